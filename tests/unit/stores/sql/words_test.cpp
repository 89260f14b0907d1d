#include "stores/sql/words.hpp"

#include <gtest/gtest.h>

namespace holdfast::sql {
namespace {

TEST(SqlWords, ANameStandsInAsciiAndIsFoundAgain) {
    EXPECT_EQ(escaped("orders/42:a_b-c.d"), "orders/42:a_b-c.d");
    EXPECT_EQ(escaped("it's %41"), "it%27s%20%2541");
    for (const std::string& name : {std::string("a"), std::string("\0x\n", 3),
                                    std::string("\xff\xc3\xa4"), std::string("%")}) {
        EXPECT_EQ(unescaped(escaped(name)), name);
    }
}

TEST(SqlWords, TwoNamesNeverMeet) {
    EXPECT_NE(escaped("a%20b"), escaped("a b"));
    EXPECT_NE(escaped("A"), escaped("a"));
}

TEST(SqlWords, WhatIsNoSuchTextIsRefused) {
    for (const char* const text : {"%", "%4", "%zz", "a b", "%shedlock/x"}) {
        EXPECT_FALSE(unescaped(text)) << text;
    }
}

TEST(SqlWords, BytesAndNoncesAreDigits) {
    EXPECT_EQ(hex_of(std::string_view("a\xff")), "61ff");
    EXPECT_EQ(from_hex("61ff"), "a\xff");
    EXPECT_FALSE(from_hex("6"));
    const Nonce nonce = random_nonce();
    EXPECT_EQ(hex_of(nonce).size(), 32U);
    EXPECT_EQ(nonce_of(hex_of(nonce)), nonce);
    EXPECT_FALSE(nonce_of("12"));
}

}  // namespace
}  // namespace holdfast::sql
