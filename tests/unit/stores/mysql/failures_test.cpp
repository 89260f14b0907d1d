#include "stores/mysql/failures.hpp"

#include <gtest/gtest.h>

namespace holdfast::inline v0::mysql {
namespace {

using Remedy = sql::Dialect::Remedy;

Remedy remedy_for(const std::string& number) {
    return meaning_of({.code = number, .message = "refused"}, {}).remedy;
}

TEST(MysqlFailures, ASessionLeavesAServerThatCannotWrite) {
    for (const std::string number : {"1036", "1290", "1792", "1836", "1874"}) {
        EXPECT_EQ(remedy_for(number), Remedy::reconnect) << number;
    }
}

TEST(MysqlFailures, WhatAGroupRollsBackIsRepeated) {
    EXPECT_EQ(remedy_for("3101"), Remedy::again);
    // That it did nothing is not said for every hook.
    EXPECT_EQ(remedy_for("3100"), Remedy::repeat);
}

TEST(MysqlFailures, AKilledSessionIsOverAndMayHaveDoneWhatItWasAt) {
    for (const unsigned number : {1053U, 1152U, 1927U, 3169U, 4031U}) {
        EXPECT_TRUE(ends_connection(number)) << number;
    }
    EXPECT_FALSE(ends_connection(1205));
}

}  // namespace
}  // namespace holdfast::inline v0::mysql
