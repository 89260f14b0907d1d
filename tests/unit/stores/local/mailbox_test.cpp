#include "stores/local/doorbell.hpp"

#include <gtest/gtest.h>

#include "unit/stores/ledger/map_table.hpp"

namespace holdfast::local {
namespace {

ledger::Told told(ledger::ClientId client, int nonce, Standing::State state) {
    ledger::Told one{.client = client, .nonce = {}, .state = state};
    one.nonce.bytes[0] = static_cast<std::byte>(nonce);
    return one;
}

TEST(Mailbox, GivesEachClientItsOwnMailOnce) {
    ledger::MapTable table;
    post(table, told(1, 7, Standing::State::offered));
    post(table, told(1, 8, Standing::State::waiting));
    post(table, told(2, 9, Standing::State::gone));
    const auto mail = take_mail(table, 1);
    ASSERT_EQ(mail.size(), 2U);
    EXPECT_EQ(mail[0].state, Standing::State::offered);
    EXPECT_EQ(mail[0].nonce.bytes[0], std::byte{7});
    EXPECT_EQ(mail[1].state, Standing::State::waiting);
    EXPECT_TRUE(take_mail(table, 1).empty());
    EXPECT_EQ(take_mail(table, 2).size(), 1U);
    EXPECT_TRUE(table.rows.empty());
}

TEST(Mailbox, KeepsTheLatestForEachWaiter) {
    ledger::MapTable table;
    post(table, told(1, 7, Standing::State::waiting));
    post(table, told(1, 7, Standing::State::offered));
    const auto mail = take_mail(table, 1);
    ASSERT_EQ(mail.size(), 1U);
    EXPECT_EQ(mail[0].state, Standing::State::offered);
}

}  // namespace
}  // namespace holdfast::local
