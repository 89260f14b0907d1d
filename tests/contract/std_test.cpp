#include <condition_variable>
#include <shared_mutex>

#include "contract/stores.hpp"

/// The locks in the hands of the standard library, and what must not compile.
namespace holdfast::test {
namespace {

class Standard : public Contract {};
HOLDFAST_FOR_EVERY_STORE(Standard);

template <class T>
concept AskedForAHold = requires(T attempt) {
    static_cast<bool>(std::forward<T>(attempt));
};
template <class T>
concept AskedForAValue = requires(T attempt) {
    std::forward<T>(attempt).has_value();
};

static_assert(AskedForAHold<Attempt&> && AskedForAHold<const Attempt&>);
static_assert(!AskedForAHold<Attempt> && !AskedForAHold<const Attempt>,
              "a temporary's hold is gone before the guarded work starts");
static_assert(AskedForAValue<Attempt&> && !AskedForAValue<Attempt>);
static_assert(!std::is_constructible_v<bool, Attempt> && std::is_constructible_v<bool, Attempt&>);
static_assert(!std::is_convertible_v<Attempt&, bool>);

static_assert(!std::is_move_constructible_v<Mutex> && !std::is_copy_constructible_v<Mutex>);
static_assert(!std::is_move_constructible_v<SharedMutex>);
static_assert(!std::is_move_constructible_v<RecursiveMutex>);
static_assert(!std::is_move_constructible_v<Semaphore>);
static_assert(!std::is_move_constructible_v<MultiLock>);
static_assert(std::is_nothrow_move_constructible_v<Hold> && !std::is_copy_constructible_v<Hold>);
static_assert(std::is_nothrow_move_assignable_v<Hold>);
static_assert(std::is_copy_constructible_v<Client>);
static_assert(!std::is_default_constructible_v<Client>);
static_assert(std::is_nothrow_destructible_v<Hold> && std::is_nothrow_destructible_v<Mutex>);
static_assert(noexcept(std::declval<Mutex&>().unlock()));
static_assert(noexcept(std::declval<SharedMutex&>().unlock_shared()));
static_assert(noexcept(std::declval<Hold&>().release()));

TEST_P(Standard, UniqueLockLocksTriesAndWaits) {
    auto mutex = client_.mutex("orders");
    auto rival = another_client().mutex("orders");
    std::unique_lock lock(mutex);
    EXPECT_TRUE(mutex.hold().held());
    std::unique_lock busy(rival, std::try_to_lock);
    EXPECT_FALSE(busy);
    std::unique_lock timed(rival, 20ms);
    EXPECT_FALSE(timed);
    std::unique_lock until(rival, Clock::now() + 20ms);
    EXPECT_FALSE(until);
    lock.unlock();
    EXPECT_TRUE(timed.try_lock_for(patience));
    timed.unlock();
    lock.lock();
    EXPECT_TRUE(lock.owns_lock());
}

TEST_P(Standard, ScopedLockTakesSeveralResourcesWithoutDeadlock) {
    auto a = client_.mutex("a");
    auto b = client_.mutex("b");
    int counter = 0;
    const auto work = [&](Mutex& first, Mutex& second) {
        for (int i = 0; i < 50; ++i) {
            const std::scoped_lock guard(first, second);
            ++counter;
        }
    };
    {
        Thread one([&] { work(a, b); });
        Thread other([&] { work(b, a); });
    }
    EXPECT_EQ(counter, 100);
}

TEST_P(Standard, SharedLockReadsAndUniqueLockWrites) {
    auto mutex = client_.shared_mutex("orders");
    {
        const std::shared_lock mine(mutex);
        Thread other([&] {
            const std::shared_lock theirs(mutex);
            EXPECT_TRUE(theirs.owns_lock());
            EXPECT_FALSE(client_.shared_mutex("orders").try_lock());
        });
    }
    std::unique_lock writer(mutex);
    Thread other([&] {
        const std::shared_lock reader(mutex, 20ms);
        EXPECT_FALSE(reader);
    });
    other.join();
}

TEST_P(Standard, ConditionVariableAnyWaitsWithTheLockGivenBack) {
    auto mutex = client_.mutex("orders");
    std::condition_variable_any changed;
    bool ready = false;
    Thread waiter([&] {
        std::unique_lock lock(mutex);
        EXPECT_TRUE(changed.wait_for(lock, patience, [&] { return ready; }));
        EXPECT_TRUE(mutex.hold().held());
    });
    {
        const std::scoped_lock guard(mutex);
        ready = true;
    }
    changed.notify_all();
}

TEST_P(Standard, ASecondLockByTheSameThreadWouldDeadlock) {
    auto mutex = client_.mutex("orders");
    mutex.lock();
    EXPECT_EQ(error_of([&] { mutex.lock(); }), std::errc::resource_deadlock_would_occur);
    EXPECT_EQ(error_of([&] { return mutex.acquire(); }), errc::deadlock);
    mutex.unlock();
    mutex.lock();
    mutex.unlock();
}

TEST_P(Standard, ASecondLockOfASharedMutexByTheSameThreadWouldDeadlock) {
    auto mutex = client_.shared_mutex("orders");
    mutex.lock_shared();
    EXPECT_EQ(error_of([&] { mutex.lock(); }), errc::deadlock);
    EXPECT_EQ(error_of([&] { mutex.lock_shared(); }), errc::deadlock);
    mutex.unlock_shared();
    mutex.lock();
    EXPECT_EQ(error_of([&] { mutex.lock_shared(); }), errc::deadlock);
    EXPECT_EQ(error_of([&] { return mutex.acquire_shared(); }), errc::deadlock);
    mutex.unlock();
    EXPECT_TRUE(client_.inspect().empty());
}

TEST_P(Standard, AnyThreadMayUnlock) {
    auto mutex = client_.mutex("orders");
    mutex.lock();
    Thread other([&] { mutex.unlock(); });
    other.join();
    EXPECT_TRUE(mutex.try_lock()) << "the thread that locked it has nothing left";
    mutex.unlock();
}

TEST_P(Standard, ThreadsQueueOnTheObjectUntilItsUnlockAlsoAfterALoss) {
    auto mutex = client_.mutex("orders", {.lease = 3s});
    mutex.lock();
    break_holders("orders");
    ASSERT_TRUE(await([&] { return !mutex.hold().held(); }));
    Thread other([&] {
        EXPECT_FALSE(mutex.try_lock());
        EXPECT_FALSE(mutex.try_lock_for(20ms));
    });
    other.join();
    mutex.unlock();
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
}

TEST_P(Standard, ALockDestroyedWhileLockedGivesItsHoldBack) {
    {
        auto mutex = client_.mutex("orders");
        mutex.lock();
    }
    EXPECT_TRUE(client_.inspect().empty());
}

}  // namespace
}  // namespace holdfast::test
