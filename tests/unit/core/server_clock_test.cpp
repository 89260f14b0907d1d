#include "core/server_clock.hpp"
#include "support/suite.hpp"

namespace holdfast::core {
namespace {

/// A server whose clock the test moves, and a network of its pace.
class AServerClock : public testing::Test {
protected:
    /// The server reads its clock at the given share of the way.
    std::chrono::microseconds ask(std::chrono::milliseconds there = 1ms,
                                  std::chrono::milliseconds back = 1ms) {
        const Moment sent = now_;
        now_ += there;
        const auto reading =
            std::chrono::duration_cast<std::chrono::microseconds>(now_.time_since_epoch() + ahead_);
        now_ += back;
        return clock_.heard(sent, now_, reading);
    }
    void pass(std::chrono::nanoseconds time) { now_ += time; }

    ServerClock clock_;
    Moment now_{1h};
    std::chrono::nanoseconds ahead_ = 400 * 24h;
};

TEST_F(AServerClock, ThatGoesAsOursDoesNeverJumped) {
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(ask(), 0us);
        pass(10s);
    }
}

TEST_F(AServerClock, ThatWentForwardIsTold) {
    EXPECT_EQ(ask(), 0us) << "there is nothing to compare with";
    pass(10s);
    ahead_ += 5s;
    const auto jump = ask();
    EXPECT_GT(jump, 4900ms);
    EXPECT_LE(jump, 5s) << "at the least";
    pass(10s);
    EXPECT_EQ(ask(), 0us) << "once";
}

TEST_F(AServerClock, ThatWentBackIsTold) {
    ask();
    pass(10s);
    ahead_ -= 1h;
    EXPECT_LT(ask(), -59min);
    pass(10s);
    EXPECT_EQ(ask(), 0us);
}

TEST_F(AServerClock, IsNotTakenForAJumpByASlowNetwork) {
    ask();
    pass(10s);
    EXPECT_EQ(ask(5s, 1ms), 0us);
    pass(10s);
    EXPECT_EQ(ask(1ms, 5s), 0us);
    pass(10s);
    EXPECT_EQ(ask(), 0us);
}

TEST_F(AServerClock, MayDriftAndBeSlewed) {
    ask();
    for (int i = 0; i < 100; ++i) {
        pass(10s);
        ahead_ += 10s / 100;
        EXPECT_EQ(ask(), 0us);
    }
}

TEST_F(AServerClock, IsNotComparedWithAnAnswerThatWasOvertaken) {
    ask();
    const Moment early = now_;
    pass(10s);
    ask();
    const auto stale = std::chrono::duration_cast<std::chrono::microseconds>(
        early.time_since_epoch() + ahead_ - 1h);
    EXPECT_EQ(clock_.heard(early, now_, stale), 0us);
    pass(10s);
    EXPECT_EQ(ask(), 0us);
}

TEST_F(AServerClock, ThatJumpsSoonAfterItHasIsToldALittleLater) {
    ask();
    pass(10s);
    ahead_ -= 1h;
    EXPECT_LT(ask(), 0us);
    pass(500ms);
    ahead_ += 20s;
    EXPECT_EQ(ask(), 0us);
    pass(1s);
    EXPECT_GT(ask(), 19s);
}

TEST_F(AServerClock, OfServersThatDoNotAgreeIsToldAtTimesOnly) {
    int told = 0;
    for (int i = 0; i < 1000; ++i) {
        ahead_ += i % 2 == 0 ? 10s : -10s;
        if (ask() != 0us) ++told;
        pass(8ms);
    }
    EXPECT_GE(told, 5);
    EXPECT_LE(told, 11) << "in ten seconds";
}

}  // namespace
}  // namespace holdfast::core
