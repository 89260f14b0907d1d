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

/// A server whose start takes a while, and who answers meanwhile that it is loading.
class RedisLoading : public testing::Test {
protected:
    RedisLoading() {
        for (int i = 0; i < 300; ++i) {
            server_.command({"SET", "ballast/" + std::to_string(i), std::string(1000, 'x')});
        }
        server_.command({"SAVE"});
    }
    std::size_t times_loading() const {
        return server_.command({"INFO", "errorstats"}).find("errorstat_LOADING") !=
               std::string::npos;
    }

    RedisServer server_{
        {.settings = {"key-load-delay 3000", "loading-process-events-interval-bytes 1024"}}};
};

TEST_F(RedisLoading, ARequestWaitsUntilTheServerHasLoadedItsData) {
    const Client ours = connect(server_.url());
    server_.kill();
    const auto restarting = std::async(std::launch::async, [&] { server_.restart(); });
    auto hold = ours.mutex("orders").acquire();
    restarting.wait();
    EXPECT_GT(times_loading(), 0U);
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_F(RedisLoading, ARequestThatCannotWaitSaysThatTheServerIsLoadingAndLeavesNobody) {
    server_.kill();
    const auto restarting = std::async(std::launch::async, [&] { server_.restart(); });
    std::optional<Client> ours;
    const auto connected = [&] {
        try {
            ours.emplace(connect(server_.url() + "?request_timeout=200ms"));
        } catch (const Error&) {
        }
        return ours.has_value();
    };
    ASSERT_TRUE(await(connected)) << "it takes connections while it loads";
    auto mutex = ours->mutex("orders", {.lease = long_lease});
    const auto start = Clock::now();
    const Error error = error_of([&] { return mutex.acquire(); });
    EXPECT_LT(Clock::now() - start, 600ms);
    EXPECT_EQ(error.code(), errc::unreachable);
    expect_says(error, "loading");
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
