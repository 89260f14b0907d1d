#include "core/pursuit.hpp"
#include "support/suite.hpp"

namespace holdfast::core {
namespace {

using End = Acquisition::End;

Outcome unreachable(End end) {
    return {.end = end,
            .failure = Failure{errc::unreachable, Effect::unknown, "no answer"},
            .contenders = std::vector<Contender>(1)};
}

Outcome put_out() {
    return {.end = End::put_out, .contenders = std::vector<Contender>(1)};
}

TEST(APursuit, GoesOnWithoutALimitAfterItWasPutOut) {
    Pursuit pursuit(std::nullopt, Moment{});
    EXPECT_TRUE(pursuit.pause_after(put_out(), Moment{} + 1h));
    EXPECT_TRUE(pursuit.pause_after(unreachable(End::put_out), Moment{} + 2h));
}

TEST(APursuit, EndsWithItsPatience) {
    Pursuit pursuit(10s, Moment{});
    EXPECT_TRUE(pursuit.pause_after(put_out(), Moment{} + 9s));
    EXPECT_FALSE(pursuit.pause_after(put_out(), Moment{} + 10s));
}

TEST(APursuit, TriesAStoreAgainThatCouldNotBeReachedIfATimeWasNamed) {
    EXPECT_TRUE(Pursuit(10s, Moment{}).pause_after(unreachable(End::failed), Moment{} + 3s));
    EXPECT_FALSE(Pursuit(10s, Moment{}).pause_after(unreachable(End::failed), Moment{} + 10s));
    EXPECT_FALSE(Pursuit(std::nullopt, Moment{}).pause_after(unreachable(End::failed), Moment{}));
    EXPECT_FALSE(Pursuit(0s, Moment{}).pause_after(unreachable(End::failed), Moment{}));
}

TEST(APursuit, EndsWithEverythingElse) {
    Pursuit pursuit(10s, Moment{});
    for (const auto end : {End::admitted, End::busy, End::stopped}) {
        EXPECT_FALSE(pursuit.pause_after({.end = end}, Moment{}));
    }
    const Outcome conflict{.end = End::failed,
                           .failure = Failure{errc::conflict, Effect::none, "in use"}};
    EXPECT_FALSE(pursuit.pause_after(conflict, Moment{}));
}

TEST(APursuit, ComesAgainLessAndLessOftenAndNeverBeyondItsPatience) {
    Pursuit pursuit(10s, Moment{});
    EXPECT_EQ(pursuit.pause_after(put_out(), Moment{}), 10ms);
    EXPECT_EQ(pursuit.pause_after(put_out(), Moment{}), 20ms);
    for (int i = 0; i < 20; ++i) {
        static_cast<void>(pursuit.pause_after(put_out(), Moment{}));
    }
    EXPECT_EQ(pursuit.pause_after(put_out(), Moment{}), 1s);
    EXPECT_EQ(pursuit.pause_after(put_out(), Moment{} + 9900ms), 100ms);
}

TEST(APursuit, TellsBeingPutOutAsBusyOrByWhatTheStoreSaid) {
    EXPECT_EQ(Pursuit::told({.end = End::put_out}).end, End::busy);
    EXPECT_EQ(Pursuit::told(unreachable(End::put_out)).end, End::failed);
    EXPECT_EQ(Pursuit::told({.end = End::stopped}).end, End::stopped);
}

}  // namespace
}  // namespace holdfast::core
