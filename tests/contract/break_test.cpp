#include "contract/stores.hpp"

/// A hold that somebody else ends.
namespace holdfast::test {
namespace {

class Breaking : public Contract {
protected:
    /// Who breaks is seldom who holds.
    Client administrator_ = another_client();
};
HOLDFAST_FOR_EVERY_STORE(Breaking);

TEST_P(Breaking, FreesThePlaceAndAdmitsTheNextAtOnceWithALargerFence) {
    const Hold hold = client_.mutex("orders", {.lease = long_lease()}).acquire();
    Acquiring next(another_client(), "orders");
    ASSERT_TRUE(await_waiters("orders", 1));
    EXPECT_TRUE(administrator_.break_hold("orders", hold.fence()));
    EXPECT_GT(next.get().fence(), hold.fence());
}

TEST_P(Breaking, TellsTheHolderThatItEnded) {
    auto hold = client_.mutex("orders", {.lease = 3s}).acquire();
    std::atomic<bool> told{false};
    const std::stop_callback on_loss(hold.lost(), [&] { told = true; });
    ASSERT_TRUE(administrator_.break_hold("orders", hold.fence()));
    EXPECT_TRUE(await([&] { return told.load(); }));
    EXPECT_FALSE(hold.held());
    EXPECT_EQ(hold.remaining(), 0ns);
    EXPECT_EQ(hold.loss(), Loss::ended);
    EXPECT_EQ(hold.release(), Released::too_late);
}

TEST_P(Breaking, IsToldWithinAThirdOfTheLease) {
    const auto lease = 6s;
    const Hold hold = client_.mutex("orders", {.lease = lease}).acquire();
    const auto broken = Clock::now();
    ASSERT_TRUE(administrator_.break_hold("orders", hold.fence()));
    ASSERT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    const auto took = Clock::now() - broken;
    EXPECT_LT(took, lease / 2) << "a third, and what a busy machine adds";
}

TEST_P(Breaking, WithAWrongFenceEndsNothing) {
    const Hold hold = client_.mutex("orders", {.lease = 3s}).acquire();
    EXPECT_FALSE(administrator_.break_hold("orders", hold.fence() + 1));
    EXPECT_FALSE(administrator_.break_hold("orders", hold.fence() - 1));
    EXPECT_EQ(holders("orders"), 1U);
    EXPECT_TRUE(hold.held());
}

TEST_P(Breaking, TakesTheNameAsItIsAndNotForAPrefix) {
    const Hold hold = client_.mutex("orders/42").acquire();
    EXPECT_FALSE(administrator_.break_hold("orders/4", hold.fence()));
    EXPECT_EQ(error_of([&] { administrator_.break_hold("", hold.fence()); }),
              errc::invalid_argument);
    EXPECT_TRUE(administrator_.break_hold("orders/42", hold.fence()));
}

TEST_P(Breaking, OfNobodyEndsNothing) {
    EXPECT_FALSE(administrator_.break_hold("orders", 1));
    EXPECT_TRUE(client_.inspect().empty());
}

TEST_P(Breaking, DoesNotEndAWaiter) {
    auto hold = client_.mutex("orders").acquire();
    Acquiring waiter(another_client(), "orders");
    ASSERT_TRUE(await_waiters("orders", 1));
    EXPECT_FALSE(administrator_.break_hold("orders", 0));
    EXPECT_EQ(waiters("orders"), 1U);
    hold.release();
    EXPECT_TRUE(waiter.get().held());
}

TEST_P(Breaking, DoesNotEndOneThatIsOfferedThePlace) {
    auto hold = client_.mutex("orders").acquire();
    const auto store = port();
    const Ticket slow = enter_undriven(*store, 30s).ticket;
    hold.release();
    EXPECT_FALSE(administrator_.break_hold("orders", 0));
    const auto claimed = store->renew({&slow, 1}, 30s).get();
    ASSERT_TRUE(claimed.ok());
    EXPECT_EQ(claimed.value()[0].state, Standing::State::admitted);
}

TEST_P(Breaking, EndsOneOfSeveralPermitsAndLeavesTheOthers) {
    auto semaphore = client_.semaphore("pool", 3, {.lease = 3s});
    const Hold first = semaphore.acquire();
    const Hold second = semaphore.acquire(2);
    ASSERT_TRUE(administrator_.break_hold("pool", second.fence()));
    ASSERT_TRUE(await([&] { return second.lost().stop_requested(); }));
    EXPECT_TRUE(first.held());
    const auto next = semaphore.try_acquire(2);
    ASSERT_TRUE(next);
    EXPECT_GT(next->fence(), second.fence());
    const auto too_many = semaphore.try_acquire();
    EXPECT_FALSE(too_many);
}

TEST_P(Breaking, EndsEverybodyWhoJoinedTheHold) {
    if (!can().reenter) GTEST_SKIP() << GetParam().name << " knows no re-entry";
    const LockOptions joining{.lease = 3s, .owner = "build", .reenter = true};
    auto mutex = client_.mutex("orders", joining);
    const Hold first = mutex.acquire();
    const Hold second = another_client().mutex("orders", joining).acquire();
    ASSERT_EQ(first.fence(), second.fence());
    EXPECT_TRUE(administrator_.break_hold("orders", first.fence()));
    EXPECT_EQ(holders("orders"), 0U);
    EXPECT_TRUE(await([&] { return first.loss() == Loss::ended; }));
    EXPECT_TRUE(await([&] { return second.loss() == Loss::ended; }));
}

TEST_P(Breaking, OneResourceOfSeveralLosesTheHoldOfThemAll) {
    auto hold = client_.multi_lock({"a", "b"}, {.lease = 3s}).acquire();
    ASSERT_TRUE(administrator_.break_hold("b", hold.fences()[1]));
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_FALSE(hold.held());
    EXPECT_EQ(hold.loss(), Loss::ended);
    EXPECT_EQ(hold.release(), Released::too_late);
    EXPECT_TRUE(await([&] { return client_.inspect().empty(); }));
}

TEST_P(Breaking, AgainDoesNotTouchTheNextHold) {
    const Hold first = client_.mutex("orders", {.lease = 3s}).acquire();
    ASSERT_TRUE(administrator_.break_hold("orders", first.fence()));
    const Hold second = another_client().mutex("orders").acquire();
    EXPECT_FALSE(administrator_.break_hold("orders", first.fence()));
    EXPECT_TRUE(second.held());
    EXPECT_EQ(holders("orders"), 1U);
}

TEST_P(Breaking, OnesOwnHoldIsNoExceptionToTheRule) {
    const Hold hold = client_.mutex("orders", {.lease = 3s}).acquire();
    EXPECT_TRUE(client_.break_hold("orders", hold.fence()));
    EXPECT_TRUE(await([&] { return hold.loss() == Loss::ended; }));
}

}  // namespace
}  // namespace holdfast::test
