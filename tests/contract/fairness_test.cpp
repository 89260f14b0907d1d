#include "contract/stores.hpp"

namespace holdfast::test {
namespace {

class Fairness : public Contract {
protected:
    static inline const LockOptions barging{.fairness = holdfast::Fairness::barging};
};
HOLDFAST_FOR_EVERY_STORE(Fairness);

TEST_P(Fairness, WaitersAreAdmittedInTheOrderOfTheirComing) {
    constexpr std::size_t count = 12;
    const auto other = another_client();
    auto mine = client_.mutex("orders", {.fairness = holdfast::Fairness::fifo});
    auto theirs = other.mutex("orders", {.fairness = holdfast::Fairness::fifo});
    auto hold = mine.acquire();
    std::vector<std::size_t> order;
    {
        std::vector<Thread> running;
        for (std::size_t i = 0; i < count; ++i) {
            running.emplace_back([&, i, &mutex = i % 2 == 0 ? mine : theirs] {
                const Hold turn = mutex.acquire();
                order.push_back(i);
            });
            ASSERT_TRUE(await_waiters("orders", i + 1));
        }
        hold.release();
    }
    ASSERT_EQ(order.size(), count);
    EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST_P(Fairness, AReaderArrivingAfterAWaitingWriterQueuesBehindIt) {
    auto mutex = client_.shared_mutex("orders");
    auto reader = mutex.acquire_shared();
    std::atomic<std::uint64_t> writer_fence{0};
    std::atomic<std::uint64_t> reader_fence{0};
    Thread writer([&] { writer_fence = mutex.acquire().fence(); });
    ASSERT_TRUE(await_waiters("orders", 1));
    const auto impatient = mutex.try_acquire_shared();
    EXPECT_FALSE(impatient) << "it would pass a waiting writer";
    Thread late_reader([&] { reader_fence = mutex.acquire_shared().fence(); });
    ASSERT_TRUE(await_waiters("orders", 2));
    reader.release();
    writer.join();
    late_reader.join();
    EXPECT_GT(reader_fence, writer_fence);
}

TEST_P(Fairness, ALightContenderDoesNotPassAHeavyOneThatWaits) {
    auto semaphore = client_.semaphore("pool", 3);
    auto one = semaphore.acquire(2);
    Acquiring heavy([&](const std::stop_token&) { return semaphore.acquire(3); });
    ASSERT_TRUE(await_waiters("pool", 1));
    const auto light = semaphore.try_acquire(1);
    EXPECT_FALSE(light);
    one.release();
    EXPECT_TRUE(heavy.get().held());
}

TEST_P(Fairness, ABargingNewcomerTakesAFreeResourceFromUnderAWaiter) {
    if (!can().barging || !can().barging_shares) {
        GTEST_SKIP() << GetParam().name << " has no barging, or for a mutex alone";
    }
    auto semaphore = client_.semaphore("pool", 3, barging);
    auto one = semaphore.acquire(2);
    Acquiring heavy([&](const std::stop_token&) { return semaphore.acquire(3); });
    ASSERT_TRUE(await_waiters("pool", 1));
    auto light = semaphore.try_acquire(1);
    ASSERT_TRUE(light) << "it fits, and a waiter reserves nothing";
    one.release();
    EXPECT_FALSE(heavy.is_over()) << "the one admitted behind it counts";
    light->release();
    EXPECT_TRUE(heavy.get().held());
}

TEST_P(Fairness, AWaiterIsNeverAdmittedBesideABarger) {
    if (!can().barging) GTEST_SKIP() << GetParam().name << " has a line and no barging";
    auto mutex = client_.mutex("orders", barging);
    std::atomic<int> inside{0};
    std::atomic<bool> met{false};
    const auto enter = [&](auto acquire) {
        for (int i = 0; i < 200; ++i) {
            const auto hold = acquire();
            if (!hold) continue;
            if (++inside > 1) met = true;
            --inside;
        }
    };
    together(6, [&](int i) {
        enter([&] { return i % 2 == 0 ? mutex.try_acquire_for(patience) : mutex.try_acquire(); });
    });
    EXPECT_FALSE(met);
}

TEST_P(Fairness, UsersOfOneResourceMustAgree) {
    const Hold hold = client_.mutex("orders").acquire();
    const auto other = another_client();
    EXPECT_EQ(error_of([&] { return other.mutex("orders", barging).try_acquire(); }),
              can().barging ? errc::conflict : errc::not_supported);
    EXPECT_EQ(error_of([&] { return other.semaphore("orders", 3).acquire(); }), errc::conflict);
    EXPECT_TRUE(hold.held());
}

}  // namespace
}  // namespace holdfast::test
