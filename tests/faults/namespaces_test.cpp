#include <csignal>
#include <iostream>

#include "faults/processes.hpp"

/// Processes that live in namespaces of their own, as in containers.
namespace holdfast::test {
namespace {

using Command = std::vector<std::string>;

/// `command` with what has to go before it here: nothing, or a user namespace for one who is not
/// root. Nothing at all where neither is permitted.
std::optional<Command> permitted(const Command& command) {
    for (const Command& user : {Command{}, Command{"--map-root-user"}}) {
        Command whole{"unshare"};
        whole.insert(whole.end(), user.begin(), user.end());
        whole.insert(whole.end(), command.begin(), command.end());
        Command probing = whole;
        probing.emplace_back("true");
        Child probe(probing);
        if (ended_well(probe)) return whole;
    }
    return std::nullopt;
}

class Namespaces : public LocalProcesses {
protected:
    void SetUp() override {
        const auto command = permitted({"--fork", "--pid", "--mount-proc", "--kill-child"});
        if (!command)
            GTEST_SKIP() << "unshare may make no PID namespace here, not even as root "
                            "of a user namespace";
        new_namespace_ = *command;
    }

    Command new_namespace_;
};

TEST_F(Namespaces, EqualPidsInTwoNamespacesExcludeEachOtherAndTakeOver) {
    // Both are process 1 of their own namespace.
    Child holder = talker(new_namespace_);
    const auto first = fence_in(holder.ask("acquire orders"));
    ASSERT_GT(first, 0U);
    Child waiter = talker(new_namespace_);
    EXPECT_EQ(waiter.ask("try orders"), "busy") << "the same pid is not the same process";
    waiter.say("acquire orders");
    ASSERT_TRUE(await_waiters("orders", 1));
    EXPECT_FALSE(waiter.hear(600ms)) << "two looks at the seat later it still waits";
    const auto killed = Clock::now();
    holder.signal(SIGKILL);
    EXPECT_GT(fence_in(waiter.hear().value_or("")), first);
    const auto took = Clock::now() - killed;
    EXPECT_LT(took, 10s) << "the lease is 60 s";
    std::cout << "takeover across namespaces: "
              << std::chrono::ceil<std::chrono::microseconds>(took).count() << " us\n";
}

TEST_F(Namespaces, APlainReleaseWakesAWaiterInAnotherNamespace) {
    auto hold = client_.mutex("orders").acquire();
    Child waiter = talker(new_namespace_);
    waiter.say("acquire orders");
    ASSERT_TRUE(await_waiters("orders", 1));
    hold.release();
    EXPECT_GT(fence_in(waiter.hear().value_or("")), hold.fence());
}

TEST_F(LocalProcesses, AProcessOfAnotherTimeNamespaceIsRefused) {
    const auto shifted = permitted({"--fork", "--kill-child", "--time", "--boottime", "1000"});
    if (!shifted) {
        GTEST_SKIP() << "unshare may make no time namespace here, not even as root of a user "
                        "namespace";
    }
    const auto hold = client_.mutex("orders").acquire();
    Child other = starting(*shifted);
    EXPECT_FALSE(other.hear()) << "its clock is 1000 s ahead: it would take every lease for over";
    EXPECT_FALSE(ended_well(other));
}

TEST(TimeNamespaces, BootClockAndAlarmsFollowTheTimeSinceBoot) {
    // A machine that has slept for long: so much is CLOCK_BOOTTIME ahead of CLOCK_MONOTONIC.
    const auto clocks_shifted_by = [](const std::string& seconds) -> std::optional<Command> {
        auto command = permitted({"--fork", "--kill-child", "--time", "--boottime", seconds});
        if (!command) return std::nullopt;
        command->insert(command->end(), {this_program(), contender_flag, "clocks"});
        return command;
    };
    const auto awake = clocks_shifted_by("0");
    const auto slept = clocks_shifted_by("1000");
    if (!awake || !slept) {
        GTEST_SKIP() << "unshare may make no time namespace here, not even as root of a user "
                        "namespace";
    }
    const auto seconds_ahead = [](Child& child) {
        return std::stol(child.hear().value_or("-1000000"));
    };
    Child before(*awake);
    Child after(*slept);
    const long ahead_before = seconds_ahead(before);
    const long ahead_after = seconds_ahead(after);
    EXPECT_GE(ahead_before, -1);
    EXPECT_NEAR(static_cast<double>(ahead_after - ahead_before), 1000, 5)
        << "BootClock does not follow CLOCK_BOOTTIME";
    // An alarm on another clock would ring 1000 s late, or at once.
    EXPECT_EQ(before.hear(), "rang");
    EXPECT_EQ(after.hear(), "rang") << "the alarm's timer does not follow CLOCK_BOOTTIME";
    EXPECT_TRUE(ended_well(before));
    EXPECT_TRUE(ended_well(after));
}

}  // namespace
}  // namespace holdfast::test
