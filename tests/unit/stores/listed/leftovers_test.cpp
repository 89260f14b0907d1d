#include "stores/listed/leftovers.hpp"

#include <gtest/gtest.h>

namespace holdfast::listed {
namespace {

using namespace std::chrono_literals;

constexpr Moment now{1000s};

Leftover leftover(std::string node, std::int64_t made_by = 0) {
    return {.incarnation = {1, made_by, std::move(node)}};
}

TEST(Leftovers, AreRemovedAgainUntilThatIsAnswered) {
    Leftovers leftovers;
    leftovers.add_under_way(leftover("/a"));
    EXPECT_TRUE(leftovers.take_due(now).empty()) << "somebody is about to";
    leftovers.unanswered(leftover("/a"), now);
    EXPECT_TRUE(leftovers.take_due(now).empty()) << "not at once";
    EXPECT_EQ(leftovers.take_due(now + 1s).size(), 1U);
    EXPECT_TRUE(leftovers.take_due(now + 1s).empty()) << "by one at a time";
    leftovers.unanswered(leftover("/a"), now + 1s);
    EXPECT_EQ(leftovers.take_due(now + 2s).size(), 1U) << "and again";
    leftovers.settled(leftover("/a"));
    EXPECT_TRUE(leftovers.take_due(now + 3s).empty());
}

TEST(Leftovers, ThatWereLeftByWhoTriedBeforeAreRemovedByTheNext) {
    Leftovers leftovers;
    leftovers.add(leftover("/a"));
    EXPECT_EQ(leftovers.take_due(now).size(), 1U);
}

TEST(Leftovers, AreNotSettledByTheEndOfAnEarlierOneOfTheSameName) {
    Leftovers leftovers;
    leftovers.add_under_way(leftover("/a", 7));
    leftovers.add(leftover("/a", 8));
    leftovers.settled(leftover("/a", 7));
    const auto due = leftovers.take_due(now);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due.front().incarnation.made_by, 8);
    leftovers.unanswered(leftover("/a", 7), now);
    EXPECT_TRUE(leftovers.take_due(now + 1s).empty()) << "nor begun anew";
}

}  // namespace
}  // namespace holdfast::listed
