#include "stores/listed/removals.hpp"

#include <gtest/gtest.h>

namespace holdfast::listed {
namespace {

using namespace std::chrono_literals;

constexpr Moment now{1000s};

Removal removal(std::string node, std::int64_t made_by = 0) {
    return {.incarnation = {1, made_by, std::move(node)}};
}

TEST(Removals, AreRemovedAgainUntilThatIsAnswered) {
    Removals removals;
    removals.add_under_way(removal("/a"));
    EXPECT_TRUE(removals.take_due(now).empty()) << "somebody is about to";
    removals.unanswered(removal("/a"), now);
    EXPECT_TRUE(removals.take_due(now).empty()) << "not at once";
    EXPECT_EQ(removals.take_due(now + 1s).size(), 1U);
    EXPECT_TRUE(removals.take_due(now + 1s).empty()) << "by one at a time";
    removals.unanswered(removal("/a"), now + 1s);
    EXPECT_EQ(removals.take_due(now + 2s).size(), 1U) << "and again";
    removals.settled(removal("/a"));
    EXPECT_TRUE(removals.take_due(now + 3s).empty());
}

TEST(Removals, ThatWereLeftByWhoTriedBeforeAreRemovedByTheNext) {
    Removals removals;
    removals.add(removal("/a"));
    EXPECT_EQ(removals.take_due(now).size(), 1U);
}

TEST(Removals, AreNotMadeBeforeTheyAreDue) {
    Removals removals;
    removals.add(removal("/a"), now + 1s);
    EXPECT_TRUE(removals.take_due(now).empty());
    EXPECT_EQ(removals.take_due(now + 1s).size(), 1U);
}

TEST(Removals, AreNotSettledByTheEndOfAnEarlierOneOfTheSameName) {
    Removals removals;
    removals.add_under_way(removal("/a", 7));
    removals.add(removal("/a", 8));
    removals.settled(removal("/a", 7));
    const auto due = removals.take_due(now);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due.front().incarnation.made_by, 8);
    removals.unanswered(removal("/a", 7), now);
    EXPECT_TRUE(removals.take_due(now + 1s).empty()) << "nor begun anew";
}

}  // namespace
}  // namespace holdfast::listed
