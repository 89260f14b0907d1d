#include "stores/redlock/runs.hpp"

#include <gtest/gtest.h>

namespace holdfast::redlock {
namespace {

TEST(RunsBehindNames, AreOneForEachName) {
    Runs runs(3);
    EXPECT_FALSE(runs.seen(0, "a"));
    EXPECT_FALSE(runs.seen(1, "b"));
    EXPECT_FALSE(runs.seen(0, "a")) << "it was connected to anew";
    EXPECT_EQ(runs.seen(2, "a"), 0U);
    EXPECT_EQ(runs.seen(2, "b"), 1U);
    EXPECT_FALSE(runs.seen(2, "c"));
}

TEST(RunsBehindNames, AreThoseOfTheFirstNameUntilAnotherServerAnswersByIt) {
    Runs runs(3);
    EXPECT_FALSE(runs.seen(0, "a"));
    EXPECT_EQ(runs.seen(1, "a"), 0U);
    EXPECT_FALSE(runs.seen(0, "restarted"));
    EXPECT_FALSE(runs.seen(1, "a")) << "it has moved";
    EXPECT_EQ(runs.seen(0, "a"), 1U);
}

TEST(RunsBehindNames, AreBelievedWhenTwoHaveChangedTheirNames) {
    Runs runs(3);
    EXPECT_FALSE(runs.seen(0, "a"));
    EXPECT_FALSE(runs.seen(1, "b"));
    EXPECT_EQ(runs.seen(0, "b"), 1U);
    EXPECT_FALSE(runs.seen(1, "a"));
    EXPECT_FALSE(runs.seen(0, "b"));
}

}  // namespace
}  // namespace holdfast::redlock
