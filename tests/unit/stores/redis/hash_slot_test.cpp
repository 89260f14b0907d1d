#include "stores/redis/hash_slot.hpp"

#include <gtest/gtest.h>

namespace holdfast::redis {
namespace {

/// By a server's CLUSTER KEYSLOT.
TEST(AHashSlot, IsThatOfTheServers) {
    EXPECT_EQ(hash_slot_of("123456789"), 12739);
    EXPECT_EQ(hash_slot_of("foo"), 12182);
    EXPECT_EQ(hash_slot_of(""), 0);
}

TEST(AHashSlot, IsThatOfWhatStandsInTheFirstBraces) {
    EXPECT_EQ(hash_slot_of("{foo}:waiters"), hash_slot_of("foo"));
    EXPECT_EQ(hash_slot_of("a{foo}{bar}"), hash_slot_of("foo"));
    EXPECT_EQ(hash_slot_of("a{{foo}}"), hash_slot_of("{foo"));
}

TEST(AHashSlot, IsThatOfAllWhenNothingStandsInTheFirstBraces) {
    EXPECT_NE(hash_slot_of("{}foo"), hash_slot_of(""));
    EXPECT_NE(hash_slot_of("a{}{foo}"), hash_slot_of("foo"));
    EXPECT_NE(hash_slot_of("{foo"), hash_slot_of("foo"));
}

}  // namespace
}  // namespace holdfast::redis
