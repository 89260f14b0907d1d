#include "stores/redis/summoned_waiters.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using State = Standing::State;

Nonce nonce(int number) {
    Nonce made;
    made.bytes[0] = static_cast<std::byte>(number);
    return made;
}

Contender contender(int number, std::string resource) {
    return {.resource = std::move(resource), .nonce = nonce(number), .owner = {}, .lease = 1h};
}

Ticket ticket(int number) {
    return {"a", nonce(number), "x"};
}

const Result<Standing> done = Standing{.state = State::admitted};
const Result<Standing> unanswered = Failure{};

TEST(SummonedWaiters, AreFoundInTheOrderInWhichTheyCame) {
    SummonedWaiters waiters;
    waiters.expect(contender(9, "a"), 0);
    waiters.expect(contender(1, "a"), 0);
    waiters.expect(contender(5, "b"), 0);
    EXPECT_EQ(waiters.first("a"), nonce(9));
    EXPECT_EQ(waiters.first("a"), nonce(9)) << "until it is gone";
    waiters.expect(contender(9, "a"), 0);
    EXPECT_EQ(waiters.first("a"), nonce(9)) << "when it comes again";
    waiters.forget(nonce(9));
    EXPECT_EQ(waiters.first("a"), nonce(1));
    waiters.forget(nonce(1));
    EXPECT_EQ(waiters.first("a"), std::nullopt);
    EXPECT_EQ(waiters.first("b"), nonce(5));
    EXPECT_EQ(waiters.first("c"), std::nullopt);
}

TEST(SummonedWaiters, LiveAsLongAsTheyAreHeardOf) {
    SummonedWaiters waiters;
    waiters.expect(contender(1, "a"), 0);
    EXPECT_FALSE(waiters.is_over(nonce(1)));
    waiters.goes_on(nonce(1), Moment{});
    EXPECT_TRUE(waiters.is_over(nonce(1)));
    waiters.goes_on(nonce(1), Moment::max());
    EXPECT_FALSE(waiters.is_over(nonce(1)));
    EXPECT_FALSE(waiters.is_over(nonce(2)));
}

/// The second of two is watched, and what becomes of the first is told to it or not.
class TheNextOne : public testing::Test {
protected:
    TheNextOne() {
        waiters_.expect(contender(1, "a"), 1);
        Contender reader = contender(2, "a");
        reader.weight = 1;
        waiters_.expect(reader, 1);
        watch_ = waiters_.watch(ticket(2), [this](const Standing& standing) {
            EXPECT_EQ(standing.state, State::offered);
            ++told_;
        });
    }

    SummonedWaiters waiters_;
    int told_ = 0;
    std::unique_ptr<Watch> watch_;
};

TEST_F(TheNextOne, IsSummonedByOneThatIsGone) {
    waiters_.settled(nonce(1), {.state = State::waiting});
    waiters_.settled(nonce(1), {.state = State::offered});
    EXPECT_EQ(told_, 0);
    waiters_.settled(nonce(1), {.state = State::gone});
    EXPECT_EQ(told_, 1);
    waiters_.settled(nonce(1), {.state = State::gone});
    EXPECT_EQ(told_, 1) << "once";
}

TEST_F(TheNextOne, IsNotSummonedByOneThatTookAll) {
    waiters_.settled(nonce(1), {.state = State::admitted});
    EXPECT_EQ(told_, 0);
}

TEST_F(TheNextOne, IsSummonedByOneThatTookAShare) {
    waiters_.expect(contender(3, "a"), 1);
    const auto watch = waiters_.watch(ticket(3), [this](const Standing&) { ++told_; });
    waiters_.settled(nonce(1), {.state = State::admitted});
    waiters_.settled(nonce(2), {.state = State::admitted});
    EXPECT_EQ(told_, 1);
}

TEST_F(TheNextOne, IsSummonedOnceALeaveWasAnsweredOrNot) {
    const auto departure = waiters_.leave(ticket(1));
    EXPECT_EQ(told_, 0);
    waiters_.left(departure, unanswered);
    EXPECT_EQ(told_, 1);
}

TEST(SummonedWaiters, AreInDoubtUntilEachOfTheirClaimsHasNoCopyLeft) {
    SummonedWaiters waiters;
    waiters.expect(contender(1, "a"), 0);
    EXPECT_TRUE(waiters.begin_claim(nonce(1), 10));
    EXPECT_TRUE(waiters.begin_claim(nonce(1), 20));
    waiters.settled(nonce(1), {.state = State::admitted});
    EXPECT_FALSE(waiters.begin_claim(nonce(1), 30)) << "a holder's";
    waiters.claim_ended(nonce(1), 30);
    waiters.claim_ended(nonce(1), 20);
    EXPECT_TRUE(waiters.leave(ticket(1)).plants_tombstone);
    waiters.claim_ended(nonce(1), 10);
    EXPECT_FALSE(waiters.leave(ticket(1)).plants_tombstone);
}

TEST(SummonedWaiters, AreInDoubtNoMoreOnceATombstoneStands) {
    SummonedWaiters waiters;
    waiters.expect(contender(1, "a"), 0);
    waiters.begin_claim(nonce(1), 10);
    const auto departure = waiters.leave(ticket(1));
    EXPECT_TRUE(departure.plants_tombstone);
    waiters.left(departure, unanswered);
    EXPECT_TRUE(waiters.leave(ticket(1)).plants_tombstone);
    waiters.left(departure, done);
    EXPECT_FALSE(waiters.leave(ticket(1)).plants_tombstone);
}

}  // namespace
}  // namespace holdfast::redis
