#include "stores/net/listening.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::inline v0::net {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;

struct Ear final : Listener<std::string> {
    void missed() override { ++times_missed; }
    void pushed(const std::string& message) override { messages.push_back(message); }
    int times_missed = 0;
    std::vector<std::string> messages;
};

class AListening : public testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(listening_.want(ear_)); }
    /// What was missed by now.
    int missed() {
        tell();
        return ear_->times_missed;
    }
    void tell() {
        for (const auto& callback : std::exchange(due_, {})) callback();
    }
    /// How long nothing is tried after an attempt that failed now.
    std::chrono::nanoseconds pause_after_failure() {
        now_ = std::max(now_ + 1s, listening_.next_attempt());
        listening_.lost(now_, due_);
        return listening_.next_attempt() - now_;
    }

    const std::shared_ptr<Ear> ear_ = std::make_shared<Ear>();
    Listening<std::string> listening_;
    Moment now_{1h};
    Due due_;
};

TEST(Listening, IsWantedOnce) {
    Listening<std::string> listening;
    const auto ear = std::make_shared<Ear>();
    EXPECT_FALSE(listening.wanted());
    EXPECT_TRUE(listening.want(ear));
    EXPECT_FALSE(listening.want(ear)) << "it is under way";
    EXPECT_TRUE(listening.wanted());
}

TEST_F(AListening, MissesOnceWithEachGap) {
    EXPECT_EQ(listening_.period(), 0U);
    listening_.began(due_);
    EXPECT_EQ(listening_.period(), 1U);
    EXPECT_EQ(missed(), 1) << "what was pushed before";
    listening_.heard("offered", due_);
    EXPECT_EQ(missed(), 1);
    listening_.lost(now_, due_);
    EXPECT_EQ(listening_.period(), 0U);
    EXPECT_EQ(missed(), 2);
    listening_.began(due_);
    EXPECT_EQ(listening_.period(), 2U) << "not the one before the gap";
    EXPECT_EQ(missed(), 3);
}

TEST_F(AListening, MissesOnceMoreWithEachAttemptThatFails) {
    listening_.began(due_);
    listening_.lost(now_, due_);
    listening_.lost(now_, due_);
    listening_.lost(now_, due_);
    EXPECT_EQ(missed(), 4);
    EXPECT_EQ(listening_.period(), 0U);
}

TEST_F(AListening, HasAGapThoughItGoesOnWithoutABreak) {
    listening_.began(due_);
    listening_.began(due_);
    EXPECT_EQ(listening_.period(), 2U);
    EXPECT_EQ(missed(), 2);
}

TEST_F(AListening, TellsWhatItHearsInOrderWithItsGaps) {
    listening_.began(due_);
    listening_.heard("offered", due_);
    listening_.heard("look", due_);
    tell();
    EXPECT_THAT(ear_->messages, ElementsAre("offered", "look"));
}

TEST_F(AListening, TellsNobodyWhoIsGone) {
    auto leaves = std::make_shared<Ear>();
    listening_.want(leaves);
    listening_.began(due_);
    listening_.heard("offered", due_);
    leaves.reset();
    EXPECT_EQ(missed(), 0) << "the one before it listens no more";
}

TEST_F(AListening, PausesLongerAfterEachFailureAndStartsAfreshWhenItHears) {
    EXPECT_LE(listening_.next_attempt(), now_) << "at once";
    // Half of what is due, and up to as much again: those that failed together come apart.
    EXPECT_THAT(pause_after_failure(), AllOf(Ge(2ms), Le(8ms)));
    EXPECT_THAT(pause_after_failure(), AllOf(Ge(5ms), Le(15ms)));
    EXPECT_THAT(pause_after_failure(), AllOf(Ge(10ms), Le(30ms)));
    for (int i = 0; i < 20; ++i) pause_after_failure();
    EXPECT_THAT(pause_after_failure(), AllOf(Ge(500ms), Le(1500ms)));
    listening_.began(due_);
    EXPECT_LE(listening_.next_attempt(), now_);
    EXPECT_THAT(pause_after_failure(), AllOf(Ge(2ms), Le(8ms)));
}

}  // namespace
}  // namespace holdfast::inline v0::net
