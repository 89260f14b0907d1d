#include "contract/stores.hpp"

namespace holdfast::test {
namespace {

class Reentry : public Contract {
protected:
    static LockOptions as(std::string owner) {
        return {.owner = std::move(owner), .reenter = true};
    }
};
HOLDFAST_FOR_EVERY_STORE(Reentry);

TEST_P(Reentry, ARecursiveMutexIsLockedAgainByItsThreadWithoutANewHold) {
    auto mutex = client_.recursive_mutex("orders");
    mutex.lock();
    const auto fence = mutex.hold().fence();
    mutex.lock();
    EXPECT_TRUE(mutex.try_lock());
    EXPECT_TRUE(mutex.try_lock_for(1s));
    EXPECT_EQ(mutex.hold().fence(), fence);
    EXPECT_EQ(holders("orders"), 1U);
    auto rival = client_.mutex("orders");
    for (int depth = 0; depth < 4; ++depth) {
        EXPECT_FALSE(rival.try_lock());
        mutex.unlock();
    }
    EXPECT_TRUE(rival.try_lock());
    rival.unlock();
}

TEST_P(Reentry, AnotherThreadOfARecursiveMutexWaits) {
    auto mutex = client_.recursive_mutex("orders");
    std::unique_lock lock(mutex);
    Thread other([&] { EXPECT_FALSE(mutex.try_lock()); });
    other.join();
    std::atomic<bool> in{false};
    Thread waiter([&] {
        const std::scoped_lock guard(mutex);
        in = true;
    });
    lock.unlock();
    EXPECT_TRUE(await([&] { return in.load(); }));
}

TEST_P(Reentry, ALostHoldIsNotEnteredAgain) {
    auto mutex = client_.recursive_mutex("orders", {.lease = 3s});
    mutex.lock();
    break_holders("orders");
    ASSERT_TRUE(await([&] { return !mutex.hold().held(); }));
    EXPECT_EQ(error_of([&] { mutex.lock(); }), errc::lost);
    mutex.unlock();
    mutex.lock();
    EXPECT_TRUE(mutex.hold().held());
    mutex.unlock();
}

TEST_P(Reentry, TheSameOwnerJoinsItsHoldWithTheSameFence) {
    if (!can().reenter) GTEST_SKIP() << GetParam().name << " knows no re-entry";
    const auto other = another_client();
    auto mine = client_.mutex("orders", as("build"));
    auto theirs = other.mutex("orders", as("build"));
    auto first = mine.acquire();
    auto second = theirs.acquire();
    EXPECT_EQ(first.fence(), second.fence());
    auto rival = client_.mutex("orders", {.owner = "rival"});
    first.release();
    EXPECT_FALSE(rival.try_lock()) << "the place frees with the last";
    EXPECT_TRUE(second.held());
    second.release();
    EXPECT_TRUE(rival.try_lock());
    rival.unlock();
}

TEST_P(Reentry, TheOneWhoJoinedMayLeaveFirst) {
    if (!can().reenter) GTEST_SKIP() << GetParam().name << " knows no re-entry";
    auto mutex = client_.mutex("orders", as("build"));
    auto first = mutex.acquire();
    auto second = mutex.acquire();
    EXPECT_EQ(second.release(), Released::in_time);
    EXPECT_TRUE(first.held());
    EXPECT_FALSE(client_.mutex("orders", {.owner = "rival"}).try_lock());
    EXPECT_EQ(first.release(), Released::in_time);
    EXPECT_TRUE(client_.inspect().empty());
}

TEST_P(Reentry, ReentryPassesAllWaiters) {
    if (!can().reenter) GTEST_SKIP() << GetParam().name << " knows no re-entry";
    auto mutex = client_.mutex("orders", as("build"));
    auto first = mutex.acquire();
    const Acquiring waiter(client_, "orders", {.owner = "rival"});
    ASSERT_TRUE(await_waiters("orders", 1));
    auto second = mutex.try_acquire();
    ASSERT_TRUE(second);
    first.release();
    EXPECT_EQ(waiters("orders"), 1U);
    second->release();
}

TEST_P(Reentry, AnEqualOwnerThatDoesNotAskForItIsExcluded) {
    const Hold first = client_.mutex("orders", {.owner = "build"}).acquire();
    EXPECT_FALSE(client_.mutex("orders", {.owner = "build"}).try_lock());
}

TEST_P(Reentry, AskingForMoreThanIsHeldWouldDeadlock) {
    if (!can().reenter) GTEST_SKIP() << GetParam().name << " knows no re-entry";
    auto mutex = client_.shared_mutex("orders", as("build"));
    auto reader = mutex.acquire_shared();
    const auto code = error_of([&] { return mutex.acquire(); });
    EXPECT_EQ(code, errc::deadlock);
    EXPECT_EQ(code, std::errc::resource_deadlock_would_occur);
    EXPECT_TRUE(reader.held());
    auto writer_less = mutex.acquire_shared();
    EXPECT_EQ(writer_less.fence(), reader.fence());
}

}  // namespace
}  // namespace holdfast::test
