#include "stores/redis/key_name.hpp"

#include <gtest/gtest.h>

#include <string>

#include "stores/redis/nonce_text.hpp"

namespace holdfast::redis {
namespace {

std::string every_byte() {
    std::string bytes;
    for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
    return bytes;
}

TEST(AKeyName, KeepsWhatIsHarmlessAsItIs) {
    EXPECT_EQ(escaped("orders/42_a.b-c:D"), "orders/42_a.b-c:D");
    EXPECT_EQ(escaped(""), "");
}

TEST(AKeyName, HasNoBraceNoStarAndNoControlByte) {
    const auto text = escaped(every_byte());
    EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789._-/:%"),
              std::string::npos);
    EXPECT_EQ(escaped("{a}*"), "%7Ba%7D%2A");
}

TEST(AKeyName, IsTheNameAgainWhenItIsUnescaped) {
    EXPECT_EQ(unescaped(escaped(every_byte())), every_byte());
    EXPECT_EQ(unescaped(escaped("50%25")), "50%25");
}

TEST(AKeyName, IsNothingWhenItIsNoEscapedForm) {
    for (const auto* const text : {"a b", "{a}", "%", "%2", "%2g", "a%4", "%7b", "é", "%g0"}) {
        EXPECT_EQ(unescaped(text), std::nullopt) << text;
    }
}

TEST(APattern, MatchesTheTextItself) {
    EXPECT_EQ(literal_pattern("orders/42"), "orders/42");
    EXPECT_EQ(literal_pattern("a*b?c[d]e\\f^g"), "a\\*b\\?c\\[d\\]e\\\\f\\^g");
}

TEST(ANonce, IsTheSameAfterItWasText) {
    Nonce nonce;
    for (std::size_t i = 0; i < nonce.bytes.size(); ++i) {
        nonce.bytes[i] = static_cast<std::byte>(16 * i + 15 - i);
    }
    EXPECT_EQ(hex_of(nonce), "0f1e2d3c4b5a69788796a5b4c3d2e1f0");
    EXPECT_EQ(nonce_of(hex_of(nonce)), nonce);
    EXPECT_EQ(hex_of(Nonce{}), std::string(32, '0'));
}

TEST(ANonce, IsNothingWhenTheTextIsNone) {
    EXPECT_EQ(nonce_of(""), std::nullopt);
    EXPECT_EQ(nonce_of(std::string(31, '0')), std::nullopt);
    EXPECT_EQ(nonce_of(std::string(33, '0')), std::nullopt);
    EXPECT_EQ(nonce_of(std::string(31, '0') + "g"), std::nullopt);
    EXPECT_EQ(nonce_of(std::string(31, '0') + "A"), std::nullopt);
    EXPECT_EQ(nonce_of(" " + std::string(31, '0')), std::nullopt);
}

}  // namespace
}  // namespace holdfast::redis
