#include <csignal>
#include <iostream>

#include "contract/processes.hpp"
#include "support/sanitized.hpp"

/// Holders and waiters that die or stand still.
namespace holdfast::test {
namespace {

class Takeover : public Processes {
protected:
    static void report(const std::string& what, std::vector<std::chrono::nanoseconds>& times) {
        std::ranges::sort(times);
        const auto in_microseconds = [](auto time) { return std::to_string(time.count() / 1000); };
        RecordProperty(what + "_us_p50", in_microseconds(times[times.size() / 2]));
        RecordProperty(what + "_us_max", in_microseconds(times.back()));
        std::cout << what << ": p50 " << in_microseconds(times[times.size() / 2]) << " us, max "
                  << in_microseconds(times.back()) << " us of " << times.size() << std::endl;
    }
};
HOLDFAST_FOR_EVERY_STORE_BETWEEN_PROCESSES(Takeover);

TEST_P(Takeover, AKilledHoldersPlaceIsTakenAtOnceNotAfterItsLease) {
    std::vector<std::chrono::nanoseconds> times;
    for (int i = 0; i < 10; ++i) {
        Child holder = mortal();
        const auto first = fence_in(holder.ask(acquire_mortally("orders")));
        ASSERT_GT(first, 0U);
        Child waiter = waiting(1);
        const auto killed = Clock::now();
        holder.signal(SIGKILL);
        const auto second = fence_in(waiter.hear().value_or(""));
        times.push_back(Clock::now() - killed);
        EXPECT_GT(second, first);
        // Not by its death: its lease is long.
        EXPECT_EQ(waiter.ask("release"), "in_time");
    }
    report("takeover", times);
    EXPECT_LT(times.back(), soon_after_death());
    if (GetParam().notices_death && !sanitized) {
        EXPECT_LT(times[times.size() / 2], 50ms);
    }
}

TEST_P(Takeover, AKilledHoldersPlaceIsTakenByOneThatTimedOutBefore) {
    Child holder = mortal();
    const auto first = fence_in(holder.ask(acquire_mortally("orders")));
    auto mutex = client_.mutex("orders");
    const auto busy = mutex.try_acquire_for(20ms);
    EXPECT_FALSE(busy);
    holder.signal(SIGKILL);
    const auto next = mutex.try_acquire_for(5s);
    ASSERT_TRUE(next);
    EXPECT_GT(next->fence(), first);
}

TEST_P(Takeover, AKilledHolderDoesNotKeepOutOneThatWillNotWait) {
    Child holder = mortal_holding();
    holder.kill();
    auto mutex = client_.mutex("orders");
    if (GetParam().notices_death) {
        EXPECT_TRUE(mutex.try_lock());
    } else {
        EXPECT_TRUE(await([&] { return mutex.try_lock(); }, soon_after_death()));
    }
}

TEST_P(Takeover, AForkedChildThatLivesOnDoesNotKeepAKilledHoldersPlace) {
    Child holder = mortal_holding();
    const std::string lingering = holder.ask("fork_and_linger");
    ASSERT_TRUE(lingering.starts_with("child ")) << lingering;
    const pid_t child = std::stoi(lingering.substr(6));
    holder.kill();
    const auto next = client_.mutex("orders").try_acquire_for(5s);
    EXPECT_TRUE(next);
    EXPECT_EQ(::kill(child, SIGKILL), 0) << "it lives on all the while";
}

TEST_P(Takeover, AStoppedHolderIsReplacedAfterItsLeaseAndToldWhenItGoesOn) {
    Child holder = mortal();
    const auto old_fence = fence_in(holder.ask("acquire orders 1500"));
    ASSERT_GT(old_fence, 0U);
    holder.stop();
    const auto stopped = Clock::now();
    const Hold rival = client_.mutex("orders").acquire();
    EXPECT_LT(Clock::now() - stopped, 10s);
    EXPECT_GT(rival.fence(), old_fence);
    // What the lock guards remembers the highest fence that it has seen.
    std::uint64_t highest = rival.fence();
    const auto sink_accepts = [&](std::uint64_t fence) {
        highest = std::max(highest, fence);
        return fence == highest;
    };
    holder.say("look");
    holder.go_on();
    const std::string found = holder.hear().value_or("nothing");
    EXPECT_TRUE(found.starts_with("not_held")) << found;
    EXPECT_TRUE(holder.ask("await_loss").starts_with("lost "));
    EXPECT_FALSE(sink_accepts(old_fence));
    EXPECT_TRUE(sink_accepts(rival.fence()));
    EXPECT_EQ(holder.ask("release"), "too_late");
    EXPECT_TRUE(rival.held());
}

TEST_P(Takeover, AHolderStoppedForLessThanItsLeaseKeepsIt) {
    Child holder = talker();
    ASSERT_GT(fence_in(holder.ask("acquire orders 10000")), 0U);
    holder.stop();
    EXPECT_FALSE(client_.mutex("orders").try_lock_for(100ms));
    holder.go_on();
    EXPECT_EQ(holder.ask("look"), "held none");
    EXPECT_EQ(holder.ask("release"), "in_time");
}

TEST_P(Takeover, AWaiterStoppedPastItsLeaseJoinsTheLineAgain) {
    auto hold = client_.mutex("orders").acquire();
    Child waiter = mortal();
    waiter.say("acquire orders 300");
    ASSERT_TRUE(await_waiters("orders", 1));
    waiter.stop();
    ASSERT_TRUE(await_waiters("orders", 0));
    waiter.go_on();
    ASSERT_TRUE(await_waiters("orders", 1)) << "it holds nothing, so it comes again";
    EXPECT_TRUE(hold.held());
    EXPECT_FALSE(waiter.hear(100ms));
    hold.release();
    EXPECT_GT(fence_in(waiter.hear().value_or("")), hold.fence());
}

TEST_P(Takeover, TheThirdIsNotAdmittedEarlyWhenTheSecondOfThreeDies) {
    auto hold = client_.mutex("orders").acquire();
    Child second = mortal_waiting(1);
    Child third = waiting(2);
    second.kill();
    ASSERT_TRUE(await_waiters("orders", 1));
    EXPECT_FALSE(third.hear(100ms));
    EXPECT_TRUE(hold.held());
    hold.release();
    EXPECT_GT(fence_in(third.hear().value_or("")), hold.fence());
}

TEST_P(Takeover, ADeadWaiterAtTheHeadIsPassedOverAtOnce) {
    std::vector<std::chrono::nanoseconds> times;
    for (int i = 0; i < 5; ++i) {
        auto hold = client_.mutex("orders").acquire();
        Child second = mortal_waiting(1);
        Child third = waiting(2);
        second.signal(SIGKILL);
        const auto released = Clock::now();
        hold.release();
        ASSERT_GT(fence_in(third.hear().value_or("")), 0U);
        times.push_back(Clock::now() - released);
        EXPECT_EQ(third.ask("release"), "in_time");
    }
    report("past_a_dead_waiter", times);
    EXPECT_LT(times.front(), GetParam().notices_death ? 1s : soon_after_death())
        << "not after the claim time";
}

TEST_P(Takeover, AStoppedWaiterAtTheHeadIsPassedOverWithinItsClaimTime) {
    if (!GetParam().offers) GTEST_SKIP() << GetParam().name << " has no claim time";
    auto hold = client_.mutex("orders").acquire();
    Child second = waiting(1);
    Child third = waiting(2);
    second.stop();
    const auto released = Clock::now();
    hold.release();
    const auto third_fence = fence_in(third.hear().value_or(""));
    std::vector<std::chrono::nanoseconds> took{Clock::now() - released};
    EXPECT_GT(third_fence, hold.fence());
    EXPECT_LT(took[0], 10s) << "its lease is 60 s";
    report("past_a_stopped_waiter", took);
    // The one passed over keeps its ticket.
    second.go_on();
    EXPECT_EQ(third.ask("release"), "in_time");
    EXPECT_GT(fence_in(second.hear().value_or("")), third_fence);
}

TEST_P(Takeover, HolderAndHeadOfTheLineDieTogether) {
    Child holder = mortal_holding();
    Child second = mortal_waiting(1);
    // Where nobody notices a death, it looks with its own renewals.
    Child third = mortal_waiting(2);
    second.signal(SIGKILL);
    holder.signal(SIGKILL);
    EXPECT_GT(fence_in(third.hear(10s).value_or("")), 0U);
}

TEST_P(Takeover, AHolderThatExitsWithoutReleasingFreesItsPlace) {
    Child holder = mortal_holding();
    Child waiter = waiting(1);
    holder.signal(SIGTERM);
    EXPECT_GT(fence_in(waiter.hear(10s).value_or("")), 0U);
}

/// Those that fork may use any store, also one that is theirs alone.
class Forked : public Processes {};
HOLDFAST_FOR_EVERY_STORE(Forked);

TEST_P(Forked, AChildFindsEverythingInertAndTheParentGoesOn) {
    Child parent = mortal();
    ASSERT_GT(fence_in(parent.ask("acquire orders 1000")), 0U);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(parent.ask("fork"), "child 0 held none");
    if (GetParam().between_processes) {
        EXPECT_FALSE(client_.mutex("orders").try_lock());
    }
    EXPECT_EQ(parent.ask("release"), "in_time");
    EXPECT_TRUE(client_.inspect().empty());
}

TEST_P(Takeover, ALivingForkedChildNeitherRenewsNorReleasesForItsParent) {
    Child parent = mortal();
    ASSERT_GT(fence_in(parent.ask("acquire orders 500")), 0U);
    const std::string lingering = parent.ask("fork_and_linger");
    const pid_t child = std::stoi(lingering.substr(6));
    parent.stop();
    const auto next = client_.mutex("orders").try_acquire_for(10s);
    EXPECT_TRUE(next) << "the child does not keep it";
    parent.go_on();
    EXPECT_EQ(::kill(child, SIGKILL), 0);
}

}  // namespace
}  // namespace holdfast::test
