#include "contract/stores.hpp"

namespace holdfast::test {
namespace {

class Shares : public Contract {};
HOLDFAST_FOR_EVERY_STORE(Shares);

TEST_P(Shares, ManyReadTogetherAndAWriterWaitsForTheLast) {
    auto mutex = client_.shared_mutex("orders");
    auto one = mutex.acquire_shared();
    auto two = mutex.acquire_shared();
    Acquiring writer([&](const std::stop_token& stop) { return mutex.acquire(stop); });
    ASSERT_TRUE(await_waiters("orders", 1));
    one.release();
    EXPECT_EQ(waiters("orders"), 1U);
    EXPECT_FALSE(writer.is_over());
    two.release();
    EXPECT_TRUE(writer.get().held());
}

TEST_P(Shares, AWriterKeepsReadersOutAndLetsThemInTogether) {
    auto mutex = client_.shared_mutex("orders");
    auto writer = mutex.acquire();
    std::atomic<int> reading{0};
    std::vector<Thread> readers;
    for (std::size_t i = 0; i < 5; ++i) {
        readers.emplace_back([&] {
            const Hold hold = mutex.acquire_shared();
            ++reading;
            EXPECT_TRUE(await([&] { return reading == 5; })) << "they are in at one time";
        });
        ASSERT_TRUE(await_waiters("orders", i + 1));
    }
    EXPECT_EQ(reading, 0);
    writer.release();
    readers.clear();
    EXPECT_EQ(reading, 5);
}

TEST_P(Shares, WritersAmongReadersNeverMeetAnybody) {
    const auto other = another_client();
    auto mine = client_.shared_mutex("orders");
    auto theirs = other.shared_mutex("orders");
    std::atomic<int> readers{0};
    std::atomic<int> writers{0};
    std::atomic<bool> met{false};
    int written = 0;
    together(16, [&](int i) {
        auto& mutex = i % 2 == 0 ? mine : theirs;
        for (int round = 0; round < 50; ++round) {
            if ((i + round) % 4 == 0) {
                const Hold hold = mutex.acquire();
                if (++writers != 1 || readers != 0) met = true;
                ++written;
                --writers;
            } else {
                const Hold hold = mutex.acquire_shared();
                ++readers;
                if (writers != 0) met = true;
                --readers;
            }
        }
    });
    EXPECT_FALSE(met);
    EXPECT_EQ(written, 16 * 50 / 4);
    EXPECT_TRUE(client_.inspect().empty());
}

TEST_P(Shares, PermitsAreCountedByWeight) {
    auto semaphore = client_.semaphore("pool", 5);
    auto three = semaphore.acquire(3);
    auto two = semaphore.try_acquire(2);
    ASSERT_TRUE(two);
    const auto more = semaphore.try_acquire(1);
    EXPECT_FALSE(more);
    EXPECT_EQ(semaphore.release(std::move(three)), Released::in_time);
    const auto three_again = semaphore.try_acquire(3);
    EXPECT_TRUE(three_again);
}

TEST_P(Shares, AnyHolderThatLeavesWakesTheFirstWaiter) {
    auto semaphore = client_.semaphore("pool", 3);
    std::vector<Hold> holds;
    for (int i = 0; i < 3; ++i) holds.push_back(semaphore.acquire());
    for (std::size_t leaver = 0; leaver < 3; ++leaver) {
        Acquiring next([&](const std::stop_token&) { return semaphore.acquire(); });
        ASSERT_TRUE(await_waiters("pool", 1));
        holds[leaver].release();
        holds.push_back(next.get());
    }
    EXPECT_EQ(holders("pool"), 3U);
}

TEST_P(Shares, APeakOfThreePermitsIsThree) {
    const auto other = another_client();
    auto mine = client_.semaphore("pool", 3);
    auto theirs = other.semaphore("pool", 3);
    std::atomic<int> inside{0};
    std::atomic<int> peak{0};
    together(12, [&](int i) {
        for (int round = 0; round < 40; ++round) {
            const Hold hold = (i % 2 == 0 ? mine : theirs).acquire();
            const int now = ++inside;
            int seen = peak;
            while (seen < now && !peak.compare_exchange_weak(seen, now)) {
            }
            // A hand-over may take longer than a moment inside.
            if (round == 0) {
                EXPECT_TRUE(await([&] { return peak >= 3; }));
            }
            --inside;
        }
    });
    EXPECT_EQ(peak, 3);
    EXPECT_TRUE(client_.inspect().empty());
}

TEST_P(Shares, MoreThanThereIsIsRefused) {
    auto semaphore = client_.semaphore("pool", 3);
    EXPECT_EQ(semaphore.capacity(), 3U);
    EXPECT_EQ(error_of([&] { return semaphore.try_acquire(4); }), errc::invalid_argument);
    EXPECT_EQ(error_of([&] { return semaphore.try_acquire(0); }), errc::invalid_argument);
}

}  // namespace
}  // namespace holdfast::test
