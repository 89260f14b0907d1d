#include <algorithm>
#include <thread>

#include "faults/redis_faults.hpp"

/// Connections that break, stall, or bring what they should not.
namespace holdfast::test {
namespace {

using Clock = std::chrono::steady_clock;

class RedisConnection : public RedisFaults {
protected:
    void expect_works(const Client& ours) const {
        auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
        EXPECT_TRUE(hold.held());
        EXPECT_EQ(hold.release(), Released::in_time);
        expect_nobody_left();
    }
    std::size_t waiters() const {
        std::size_t count = 0;
        for (const auto& line : rival().inspect("orders")) count += line.waiters.size();
        return count;
    }
    /// How many connections the clients of this process have.
    std::size_t connections() const {
        const std::string list = server_.command({"CLIENT", "LIST"});
        std::size_t count = 0;
        for (auto at = list.find("name=holdfast "); at != std::string::npos;
             at = list.find("name=holdfast ", at + 1)) {
            ++count;
        }
        return count;
    }
};

// --- a black hole ---

TEST_F(RedisConnection, RequestsIntoABlackHoleEndInTheirTimeLimit) {
    const Client ours = client("?request_timeout=300ms");
    auto mutex = ours.mutex("orders", {.lease = long_lease});
    proxy_.black_hole();
    const auto start = Clock::now();
    const Error error = error_of([&] { return mutex.acquire(); });
    const auto took = Clock::now() - start;
    EXPECT_EQ(error.code(), errc::unreachable);
    EXPECT_EQ(error.effect(), Effect::unknown);
    expect_says(error, "no answer in 300 ms");
    EXPECT_GE(took, 300ms);
    EXPECT_LT(took, 900ms);
    // A second one is never sent, so nothing can come of it.
    const Error second = error_of([&] { return mutex.acquire(); });
    EXPECT_EQ(second.effect(), Effect::none);
    EXPECT_LT(Clock::now() - start, 1800ms);
    // Now everything arrives, late.
    proxy_.pass();
    expect_works(ours);
}

TEST_F(RedisConnection, AnEarlierRequestsTimeLimitHoldsAlsoWhenItIsSentAgainBehindANewerOne) {
    // In the layouts of others each new connection starts with a request of its own.
    auto holder = rival("?layout=plain").mutex("orders", {.lease = long_lease}).acquire();
    const auto counting = std::make_shared<Counting>();
    const Client ours = client("?layout=plain&request_timeout=1s", {.observer = counting});
    Acquiring waiting(ours, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return counting->waits == 1; }));
    proxy_.on_request([](auto request) {
        const auto words = words_of(request);
        const bool greets = words[0] == "CLIENT" && words[1] != "TRACKING";
        return greets || words[0] == "SUBSCRIBE" ? Verdict::pass : Verdict::hold;
    });
    const auto start = Clock::now();
    std::thread late([&] {
        // Just before its time is up, so that it is sent again into the same silence.
        EXPECT_TRUE(await([&] { return Clock::now() - start > 800ms; }));
        proxy_.cut();
    });
    auto other = ours.mutex("other");
    EXPECT_EQ(error_of([&] { return other.acquire(); }).code(), errc::unreachable);
    EXPECT_LT(Clock::now() - start, 1500ms);
    late.join();
    proxy_.pass();
    holder.release();
    waiting.get().release();
    expect_nobody_left();
}

// --- half of a connection, or another's ---

TEST_F(RedisConnection, GarbageForAReplyIsToldOrAskedAgainAndNothingIsLeft) {
    const Client ours = client("?request_timeout=300ms");
    using namespace std::string_literals;
    for (const std::string& bytes :
         {"HTTP/1.1 400 Bad Request\r\n\r\n"s, "\0\xff\xfe\x16\x03"s, "*-5\r\n"s, "$-7\r\n"s,
          "$999999999999\r\n"s, "*999999999\r\n"s, "+OK\r\n"s, ":1\r\n"s, "*0\r\n"s, "$-1\r\n"s,
          "*4\r\n:3\r\n:1\r\n:7\r\n"s, "*4\r\n:3\r\n:1\r\n$1\r\n7\r\n:1\r\n"s, "-ERR no\r\n"s,
          "*8\r\n:3\r\n:1\r\n:7\r\n:0\r\n:3\r\n:1\r\n:7\r\n:0\r\n"s, "*1\r\n$5\r\nfence\r\n"s,
          "+OK\r\n+OK\r\n+OK\r\n"s, "-"s}) {
        SCOPED_TRACE(testing::PrintToString(bytes));
        proxy_.garbage(bytes);
        try {
            auto mutex = ours.mutex("orders", {.lease = long_lease});
            auto hold = mutex.acquire();
            EXPECT_EQ(rival().inspect("orders").at(0).holders.at(0).fence, hold.fence());
        } catch (const Error& error) {
            EXPECT_TRUE(error.code() == errc::corrupt || error.code() == errc::unreachable)
                << error.what();
            EXPECT_EQ(error.effect(), Effect::unknown) << error.what();
        }
        expect_works(ours);
    }
}

TEST_F(RedisConnection, AReplyThatNobodyAskedForIsNotTakenForTheNextOne) {
    const Client ours = client("?request_timeout=300ms");
    auto first = ours.mutex("first", {.lease = long_lease});
    auto hold = rival().mutex("second", {.lease = long_lease}).acquire();
    // The second reply would say to whoever comes next that it was admitted.
    proxy_.garbage("*4\r\n:0\r\n:0\r\n:0\r\n:-1\r\n*4\r\n:3\r\n:1\r\n:7\r\n:-1\r\n");
    EXPECT_FALSE(first.try_lock()) << "so it was told";
    auto second = ours.mutex("second", {.lease = long_lease});
    EXPECT_FALSE(second.try_lock());
    EXPECT_TRUE(hold.held());
}

// --- pushes ---

TEST_F(RedisConnection, APushesConnectionInABlackHoleIsNoticedAndReplaced) {
    auto holder = rival().mutex("orders", {.lease = long_lease}).acquire();
    const Client ours = client("?request_timeout=500ms");
    Acquiring waiting(ours, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return waiters() == 1 && connections() == 3; }));
    // Nothing that happens meanwhile is heard, and nobody is told.
    proxy_.black_hole();
    holder.release();
    EXPECT_FALSE(waiting.is_over(600ms));
    proxy_.cut();
    proxy_.pass();
    const auto healed = Clock::now();
    waiting.get().release();
    EXPECT_LT(Clock::now() - healed, 5s);
    expect_nobody_left();
}

TEST_F(RedisConnection, FiveHundredWaitersOfOneClientUseTwoConnections) {
    constexpr int count = 500;
    auto holder = rival().mutex("orders", {.lease = long_lease}).acquire();
    const std::size_t before = connections();
    const Client ours = client();
    auto mutex = ours.mutex("orders", {.lease = long_lease});
    std::atomic<int> holding{0};
    std::atomic<int> together{0};
    std::atomic<int> most_together{0};
    for (int i = 0; i < count; ++i) {
        mutex.async_acquire([&](std::exception_ptr failure, Attempt attempt) {
            if (failure || !attempt) return;
            most_together = std::max(most_together.load(), ++together);
            --together;
            attempt = {};
            ++holding;
        });
    }
    ASSERT_TRUE(await([&] { return waiters() == count; }));
    EXPECT_EQ(connections() - before, 2U);
    server_.command({"CLIENT", "KILL", "TYPE", "normal"});
    server_.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    holder.release();
    EXPECT_TRUE(await([&] { return holding == count; })) << holding << " came through";
    EXPECT_EQ(most_together, 1);
    EXPECT_EQ(proxy_.connections(), 4U) << "two, and two that replaced them";
    expect_nobody_left();
}

}  // namespace
}  // namespace holdfast::test
