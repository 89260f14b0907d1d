#include "stores/etcd/line_keys.hpp"

#include <gtest/gtest.h>

namespace holdfast::etcd {
namespace {

constexpr Nonce nonce(unsigned char number) {
    return {{std::byte{number}}};
}

TEST(ASlot, IsTheSameForTheSameContender) {
    Slots slots;
    EXPECT_EQ(slots.take(nonce(1)), 0U);
    EXPECT_EQ(slots.take(nonce(2)), 1U);
    EXPECT_EQ(slots.take(nonce(1)), 0U);
}

TEST(ASlot, IsUsedAgainTheLowestFirst) {
    Slots slots;
    for (unsigned char number = 0; number < 3; ++number) slots.take(nonce(number));
    slots.give_back(nonce(2));
    slots.give_back(nonce(0));
    EXPECT_EQ(slots.take(nonce(7)), 0U);
    EXPECT_EQ(slots.take(nonce(8)), 2U);
    EXPECT_EQ(slots.take(nonce(9)), 3U);
}

TEST(ASlot, ThatIsTakenByAnUnknownOneIsNotUsedAgain) {
    Slots slots;
    slots.take(nonce(1));
    slots.retire(nonce(1));
    EXPECT_EQ(slots.take(nonce(1)), 1U);
    slots.give_back(nonce(1));
    EXPECT_EQ(slots.take(nonce(2)), 1U);
}

TEST(ASlot, IsNobodysWhileADeletionOfItsKeyIsUnderWay) {
    Slots slots;
    slots.take(nonce(1));
    const auto number = slots.retire(nonce(1));
    ASSERT_EQ(number, 0U);
    slots.give_back(nonce(1));
    EXPECT_EQ(slots.take(nonce(2)), 1U) << "whoever else has heard that its key is gone";
    slots.free(*number);
    EXPECT_EQ(slots.take(nonce(3)), 0U);
    EXPECT_FALSE(slots.retire(nonce(7))) << "it has none";
}

TEST(ASlot, OfNobodyIsNotGivenBack) {
    Slots slots;
    slots.give_back(nonce(1));
    EXPECT_EQ(slots.take(nonce(2)), 0U);
}

}  // namespace
}  // namespace holdfast::etcd
