#include "stores/zookeeper/doubts.hpp"

#include <gtest/gtest.h>

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Moment now{1000s};
constexpr Nonce one{{std::byte{1}}};
constexpr Nonce other{{std::byte{2}}};

bool nobody(const Nonce&) {
    return false;
}

TEST(Doubts, AreLookedAtNowAndThenUntilTheSessionCouldNotHaveACopyAnyMore) {
    Doubts doubts;
    doubts.add(one, {4s, "/orders"}, now, 6s);
    EXPECT_EQ(doubts.term_of(one), Term{4s});
    EXPECT_TRUE(doubts.take_due(now, nobody).empty());
    EXPECT_EQ(doubts.take_due(now + 1s, nobody).size(), 1U);
    EXPECT_TRUE(doubts.take_due(now + 1s, nobody).empty());
    EXPECT_EQ(doubts.take_due(now + 6s, nobody).size(), 1U) << "a last time";
    EXPECT_FALSE(doubts.contains(one));
}

TEST(Doubts, LastNoLongerThanTheServersGrantHoweverLongASessionWasAskedFor) {
    Doubts doubts;
    doubts.add(one, {24h, "/orders"}, now, 10s);
    doubts.add(other, {4s, "/orders"}, now, 0s);
    EXPECT_EQ(doubts.take_due(now + 4s, nobody).size(), 2U);
    EXPECT_FALSE(doubts.contains(other)) << "of a session that nobody has granted yet";
    EXPECT_TRUE(doubts.contains(one));
    doubts.take_due(now + 10s, nobody);
    EXPECT_FALSE(doubts.contains(one));
}

TEST(Doubts, StayOfOneThatMayHaveGotItWithoutHearingOfIt) {
    Doubts doubts;
    doubts.add(one, {4s, "/orders"}, now, 4s);
    doubts.take_due(now + 1min, [](const Nonce& nonce) { return nonce == one; });
    EXPECT_TRUE(doubts.contains(one));
}

TEST(Doubts, RememberWhomToRefuse) {
    Doubts doubts;
    doubts.bury(one, now);
    EXPECT_TRUE(doubts.is_buried(one));
    doubts.bury(other, now + 2min);
    EXPECT_FALSE(doubts.is_buried(one)) << "nothing is that late";
}

}  // namespace
}  // namespace holdfast::zookeeper
