#include <unistd.h>

#include "contract/stores.hpp"

namespace holdfast::test {
namespace {

class Exclusion : public Contract {};
HOLDFAST_FOR_EVERY_STORE(Exclusion);

TEST_P(Exclusion, OneHoldsAndTheOthersFindItBusy) {
    auto mine = client_.mutex("orders");
    const auto other = another_client();
    auto theirs = other.mutex("orders");
    const Hold hold = mine.acquire();
    EXPECT_TRUE(hold.held());
    EXPECT_FALSE(theirs.try_lock());
    const auto attempt = theirs.try_acquire();
    EXPECT_FALSE(attempt);
}

TEST_P(Exclusion, AReleasedResourceIsFree) {
    auto mutex = client_.mutex("orders");
    EXPECT_EQ(mutex.acquire().release(), Released::in_time);
    const auto again = mutex.try_acquire();
    EXPECT_TRUE(again);
}

TEST_P(Exclusion, ATimedAttemptGivesUpAndLeavesNothingInLine) {
    auto mutex = client_.mutex("orders");
    const Hold hold = mutex.acquire();
    const auto started = Clock::now();
    const auto attempt = mutex.try_acquire_for(100ms);
    EXPECT_FALSE(attempt);
    EXPECT_GE(Clock::now() - started, 100ms);
    EXPECT_EQ(waiters("orders"), 0U);
}

TEST_P(Exclusion, ATimedAttemptIsAdmittedWhenItsTurnComes) {
    auto mutex = client_.mutex("orders");
    auto hold = mutex.acquire();
    const auto earlier = hold.fence();
    Thread waiter([&] {
        auto attempt = mutex.try_acquire_for(patience);
        ASSERT_TRUE(attempt);
        EXPECT_GT(attempt->fence(), earlier);
    });
    ASSERT_TRUE(await_waiters("orders", 1));
    hold.release();
}

TEST_P(Exclusion, AWaitWithoutPatienceIsOneTry) {
    auto mutex = client_.mutex("orders");
    const Hold hold = mutex.acquire();
    const auto attempt = mutex.try_acquire_for(0s);
    EXPECT_FALSE(attempt);
    EXPECT_FALSE(client_.mutex("orders").try_lock_for(0s));
    EXPECT_FALSE(client_.mutex("orders").try_lock_until(std::chrono::system_clock::now() - 1h));
}

TEST_P(Exclusion, AWaiterInAnotherClientIsWoken) {
    auto hold = client_.mutex("orders").acquire();
    Acquiring waiter(another_client(), "orders");
    ASSERT_TRUE(await_waiters("orders", 1));
    EXPECT_FALSE(waiter.is_over());
    hold.release();
    EXPECT_TRUE(waiter.get().held());
}

TEST_P(Exclusion, AStopTokenEndsTheWaitAndLeavesNothingInLine) {
    auto mutex = client_.mutex("orders");
    const Hold hold = mutex.acquire();
    std::stop_source stop;
    Thread waiter([&] {
        EXPECT_EQ(error_of([&] { return mutex.acquire(stop.get_token()); }), errc::cancelled);
        const auto attempt = mutex.try_acquire_for(patience, stop.get_token());
        EXPECT_FALSE(attempt) << "stopped before it began to wait";
    });
    ASSERT_TRUE(await_waiters("orders", 1));
    stop.request_stop();
    waiter.join();
    EXPECT_EQ(waiters("orders"), 0U);
    EXPECT_TRUE(hold.held());
}

TEST_P(Exclusion, CancellingRacesWithAdmissionAndLeavesNothing) {
    auto mutex = client_.mutex("orders");
    for (int round = 0; round < 50; ++round) {
        auto hold = mutex.acquire();
        std::stop_source stop;
        Thread waiter([&] {
            try {
                const Hold mine = mutex.acquire(stop.get_token());
                EXPECT_TRUE(mine.held());
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), errc::cancelled) << error.what();
            }
        });
        ASSERT_TRUE(await_waiters("orders", 1));
        Thread stopper([&] { stop.request_stop(); });
        hold.release();
    }
    EXPECT_TRUE(client_.inspect().empty());
}

TEST_P(Exclusion, FencesRiseFromHoldToHoldAndAcrossClients) {
    const auto other = another_client();
    std::uint64_t last = 0;
    for (int i = 0; i < 20; ++i) {
        const Hold hold = (i % 2 == 0 ? client_ : other).mutex("orders").acquire();
        EXPECT_GT(hold.fence(), last);
        last = hold.fence();
    }
}

TEST_P(Exclusion, TwoResourcesAreIndependent) {
    const Hold one = client_.mutex("orders/1").acquire();
    const auto two = client_.mutex("orders/2").try_acquire();
    EXPECT_TRUE(two);
}

TEST_P(Exclusion, AThousandThreadsOfTwoHandlesCountTogether) {
    constexpr int threads = 1000;
    const auto other = another_client();
    auto mine = client_.mutex("counter");
    auto theirs = other.mutex("counter");
    int counter = 0;
    together(threads, [&](int i) {
        const std::scoped_lock guard(i % 2 == 0 ? mine : theirs);
        ++counter;
    });
    EXPECT_EQ(counter, threads);
    EXPECT_TRUE(client_.inspect().empty());
}

TEST_P(Exclusion, ManyThreadsEachAContenderOfItsOwnCountTogether) {
    constexpr int threads = 64;
    constexpr int rounds = 50;
    const auto other = another_client();
    auto mine = client_.mutex("counter");
    auto theirs = other.mutex("counter");
    int counter = 0;
    std::uint64_t highest = 0;
    together(threads, [&](int i) {
        for (int round = 0; round < rounds; ++round) {
            const Hold hold = (i % 2 == 0 ? mine : theirs).acquire();
            ++counter;
            EXPECT_GT(hold.fence(), highest);
            highest = hold.fence();
        }
    });
    EXPECT_EQ(counter, threads * rounds);
    EXPECT_TRUE(client_.inspect().empty());
}

TEST_P(Exclusion, BargingThreadsCountTogether) {
    constexpr int threads = 16;
    constexpr int rounds = 100;
    if (!can().barging) GTEST_SKIP() << GetParam().name << " has a line and no barging";
    auto mutex = client_.mutex("counter", {.fairness = holdfast::Fairness::barging});
    int counter = 0;
    together(threads, [&](int) {
        for (int round = 0; round < rounds; ++round) {
            const Hold hold = mutex.acquire();
            ++counter;
        }
    });
    EXPECT_EQ(counter, threads * rounds);
    EXPECT_TRUE(client_.inspect().empty());
}

TEST_P(Exclusion, InspectTellsHoldersFromWaiters) {
    const auto other = another_client({.owner = "the other"});
    auto mutex = client_.mutex("orders", {.owner = "one"});
    auto hold = mutex.acquire();
    const Acquiring waiter(other, "orders");
    ASSERT_TRUE(await_waiters("orders", 1));
    const auto lines = client_.inspect("ord");
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].name, "orders");
    EXPECT_EQ(lines[0].holders.at(0).owner, "one");
    EXPECT_EQ(lines[0].holders.at(0).fence, hold.fence());
    EXPECT_EQ(lines[0].waiters.at(0).owner, "the other");
    EXPECT_EQ(lines[0].waiters.at(0).fence, 0U);
    EXPECT_TRUE(client_.inspect("nobody").empty());
    hold.release();
}

TEST_P(Exclusion, InspectTellsTheHostAndTheProcess) {
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    const Hold hold = client_.mutex("orders").acquire();
    const auto holder = client_.inspect()[0].holders.at(0);
    EXPECT_EQ(holder.host, host);
    EXPECT_EQ(holder.pid, getpid());
}

}  // namespace
}  // namespace holdfast::test
