#include "faults/sites.hpp"

/// One that names another capacity than the resource has stands in line for a moment, where lines
/// are listed, before it takes itself out: here that is kept back.
namespace holdfast::test {
namespace {

class Disagreement : public Trap {
protected:
    /// Returns when it knows that it is refused, and stands in line still.
    template <class Acquire>
    auto refused(Acquire acquire) const {
        const Client ours = client("connect_timeout=10s&request_timeout=20s");
        const Ambush removal = ambush(SeenVerb::leave, {Verdict::hold});
        auto result = std::async(std::launch::async, [ours, acquire] { return acquire(ours); });
        EXPECT_TRUE(removal.await_seen(1));
        return result;
    }
    static Hold take_slot(const Client& user) {
        return user.semaphore("orders", 3, long_lived()).acquire();
    }
    static std::error_code take_slot_in_vain(const Client& user) {
        return error_of([&] { return take_slot(user); }).code();
    }
    std::future<Hold> take_elsewhere(std::uint32_t permits) const {
        return std::async(std::launch::async, [permits, other = rival()] {
            return other.semaphore("orders", 5, long_lived()).acquire(permits);
        });
    }
    /// What one is told that waits, by another client.
    template <class Acquire>
    std::future<std::error_code> wait_elsewhere(Acquire acquire) const {
        return std::async(std::launch::async, [acquire, other = rival()] {
            return error_of([&] { return acquire(other); }).code();
        });
    }
    void expect_conflict_for_another_capacity() const {
        auto slots = rival().semaphore("orders", 5, long_lived());
        EXPECT_EQ(error_of([&] { return slots.acquire(); }).code(), errc::conflict);
    }
};
HOLDFAST_AT_SITES(Disagreement, [](const StoreAtSite& store) { return !store.runs_our_code; });

TEST_P(Disagreement, IsNotHeldAgainstOneThatAgreesWithTheHolder) {
    Hold first = rival().semaphore("orders", 5, long_lived()).acquire(5);
    auto wrong = refused(take_slot_in_vain);
    auto right = take_elsewhere(1);
    ASSERT_TRUE(await_waiters(2));
    network().pass();
    EXPECT_EQ(wrong.get(), errc::conflict);
    first.release();
    EXPECT_TRUE(right.get().held());
}

TEST_P(Disagreement, IsNotHeldAgainstAMutexEither) {
    auto first = rival().mutex("orders", long_lived()).acquire();
    auto wrong = refused(take_slot_in_vain);
    Acquiring second(rival(), "orders", long_lived());
    EXPECT_TRUE(await_waiters(2));
    EXPECT_FALSE(second.is_over());
    network().pass();
    EXPECT_EQ(wrong.get(), errc::conflict);
    EXPECT_EQ(first.release(), Released::in_time);
    EXPECT_TRUE(second.get().held());
}

TEST_P(Disagreement, OfOneThatHasComeToTheFrontIsTheLaterOnes) {
    Hold first = rival().semaphore("orders", 5, long_lived()).acquire(5);
    auto second = refused(take_slot);
    first.release();
    expect_conflict_for_another_capacity();
    network().pass();
    const Hold held = second.get();
    EXPECT_TRUE(held.held()) << "only the later one of two is refused";
    EXPECT_EQ(holders().size(), 1U);
}

TEST_P(Disagreement, WithOneThatHasComeToTheFrontIsToldToAWaiter) {
    Hold first = rival().semaphore("orders", 5, long_lived()).acquire(5);
    auto second = refused(take_slot);
    auto third = wait_elsewhere([](const Client& other) {
        return other.semaphore("orders", 5, long_lived()).try_acquire_for(8s);
    });
    ASSERT_TRUE(await_waiters(2));
    first.release();
    network().pass();
    const Hold held = second.get();
    EXPECT_EQ(third.get(), errc::conflict);
    EXPECT_TRUE(rival().semaphore("orders", 3, long_lived()).try_acquire())
        << "nobody stands in the way of those who agree";
}

TEST_P(Disagreement, WithAMutexThatHasComeToTheFrontIsToldToAWaiter) {
    Hold first = rival().semaphore("orders", 5, long_lived()).acquire(5);
    auto second =
        refused([](const Client& user) { return user.mutex("orders", long_lived()).acquire(); });
    auto third = wait_elsewhere([](const Client& other) {
        return other.semaphore("orders", 5, long_lived()).try_acquire_for(8s);
    });
    ASSERT_TRUE(await_waiters(2));
    first.release();
    network().pass();
    const auto held = second.get();
    EXPECT_EQ(third.get(), errc::conflict);
    EXPECT_TRUE(held.held());
}

TEST_P(Disagreement, WithPermitsThatHaveComeToTheFrontIsToldToAMutex) {
    auto first = rival().mutex("orders", long_lived()).acquire();
    auto second = refused(take_slot);
    auto third = wait_elsewhere([](const Client& other) {
        return other.mutex("orders", long_lived()).try_acquire_for(8s);
    });
    ASSERT_TRUE(await_waiters(2));
    EXPECT_EQ(first.release(), Released::in_time);
    network().pass();
    const Hold held = second.get();
    EXPECT_EQ(third.get(), errc::conflict);
    EXPECT_TRUE(held.held());
}

class DisagreementOutOfSight : public Disagreement {};
HOLDFAST_AT_SITES(DisagreementOutOfSight, [](const StoreAtSite& store) {
    return !store.runs_our_code && !store.sees_whole_line;
});

TEST_P(DisagreementOutOfSight, IsToldAlsoToOneThatWaitedBehindAnotherOfItsKind) {
    const auto permit = rival().semaphore("orders", 3, long_lived()).acquire();
    auto wrong = refused([](const Client& user) {
        return error_of([&] { return user.mutex("orders", long_lived()).acquire(); }).code();
    });
    // All that it looks at is the one before it, with which it agrees.
    auto second = std::async(std::launch::async, [other = rival()] {
        auto mutex = other.mutex("orders", long_lived());
        return error_of([&] { return mutex.try_acquire_for(8s); }).code();
    });
    ASSERT_TRUE(await_waiters(2));
    network().pass();
    EXPECT_EQ(wrong.get(), errc::conflict);
    EXPECT_EQ(second.get(), errc::conflict);
    EXPECT_TRUE(rival().semaphore("orders", 3, long_lived()).try_acquire())
        << "nobody stands in the way of those who agree";
}

TEST_P(Disagreement, WithOneThatLeavesBetweenIsDecidedByTheNextOfItsKind) {
    Hold first = rival().semaphore("orders", 5, long_lived()).acquire(5);
    auto next = take_elsewhere(5);
    ASSERT_TRUE(await_waiters(1));
    auto wrong = refused(take_slot_in_vain);
    first.release();
    const Hold present = next.get();
    network().pass();
    EXPECT_EQ(wrong.get(), errc::conflict);
    EXPECT_EQ(waiters().size(), 0U);
}

}  // namespace
}  // namespace holdfast::test
