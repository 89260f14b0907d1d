#include <future>

#include "faults/redis_faults.hpp"
#include "support/contender.hpp"

/// A server that loads, is busy, or comes back with what it was once; the rest is in
/// outage_test.cpp.
namespace holdfast::test {
namespace {

using Clock = std::chrono::steady_clock;

/// A server of the test's own.
class RedisOutage : public testing::Test {
protected:
    RedisServer server_;
};

TEST(RedisSnapshot, OfBeforeTheAdmissionEndsTheHold) {
    RedisServer server;
    const Client ours = connect(server.url());
    auto before = connect(server.url()).mutex("orders", {.lease = long_lease}).acquire();
    Acquiring waiting(ours, "orders", {.lease = 3s});
    ASSERT_TRUE(await([&] { return waiters_of(ours, "orders") == 1; }));
    server.command({"SAVE"});
    before.release();
    auto hold = waiting.get();
    server.kill();
    server.restart();
    // There it waits behind one that has left: the place is anybody's who comes when that ends.
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_FALSE(hold.held());
    EXPECT_EQ(hold.loss(), Loss::ended);
    EXPECT_NE(hold.release(), Released::in_time);
}

// --- loading, busy ---

/// A server that answers when it starts that it is loading, until it is told to be quick.
class RedisLoading : public testing::Test {
protected:
    RedisLoading() {
        for (int i = 0; i < 300; ++i) {
            server_.command({"SET", "ballast/" + std::to_string(i), std::string(1000, 'x')});
        }
        server_.command({"SAVE"});
    }
    bool has_said_that_it_is_loading() const {
        const auto errors = ask_resp(server_.port(), {"INFO", "errorstats"});
        return errors.value_or("").find("errorstat_LOADING") != std::string::npos;
    }
    void load_at_once() const { server_.command({"CONFIG", "SET", "key-load-delay", "0"}); }

    RedisServer server_{
        {.settings = {"key-load-delay 50000", "loading-process-events-interval-bytes 1024",
                      "rdbcompression no"}}};
};

TEST_F(RedisLoading, ARequestWaitsUntilTheServerHasLoadedItsData) {
    const Client ours = connect(server_.url() + "?request_timeout=60s");
    server_.kill();
    const auto restarting = std::async(std::launch::async, [&] { server_.restart(); });
    Acquiring acquiring(ours, "orders");
    EXPECT_TRUE(await([&] { return has_said_that_it_is_loading(); }));
    EXPECT_FALSE(acquiring.is_over(0s));
    load_at_once();
    restarting.wait();
    auto hold = acquiring.get();
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_F(RedisLoading, ARequestThatCannotWaitSaysThatTheServerIsLoadingAndLeavesNobody) {
    const Client ours = connect(server_.url() + "?request_timeout=500ms");
    server_.kill();
    const auto restarting = std::async(std::launch::async, [&] { server_.restart(); });
    // Before it takes connections, and when the last answer is on its way as the time is up, that
    // is what is said.
    const auto says_why = [&] {
        const Error error = error_of([&] { return ours.mutex("orders").acquire(); });
        EXPECT_EQ(error.code(), errc::unreachable) << error.what();
        return std::string_view(error.what()).find("loading") != std::string_view::npos;
    };
    EXPECT_TRUE(await(says_why));
    load_at_once();
    restarting.wait();
    // Of no effect, unless the last answer was on its way when the time was up.
    const auto is_free = [&] { return connect(server_.url()).inspect("orders").empty(); };
    EXPECT_TRUE(await(is_free));
}

TEST_F(RedisOutage, ARequestWaitsWhileTheServerIsBusyWithAScriptOfSomebodyElses) {
    server_.command({"CONFIG", "SET", "busy-reply-threshold", "20"});
    const Client ours = connect(server_.url());
    const auto running = std::async(std::launch::async, [&] {
        return server_.command({"EVAL", "while true do end", "0"});
    });
    ASSERT_TRUE(await([&] { return server_.command({"PING"}).starts_with("-BUSY"); }));
    Acquiring acquiring(ours, "orders");
    EXPECT_FALSE(acquiring.is_over(200ms));
    EXPECT_EQ(server_.command({"SCRIPT", "KILL"}), "OK");
    acquiring.get().release();
    expect_nobody_left(server_);
}

}  // namespace
}  // namespace holdfast::test
