#include "stores/scripted/words.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::scripted {
namespace {

std::string every_byte() {
    std::string bytes;
    for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
    return bytes;
}

class AName : public testing::TestWithParam<Digits> {};
INSTANTIATE_TEST_SUITE_P(BothCases, AName, testing::Values(Digits::lower, Digits::upper),
                         [](const auto& about) {
                             return about.param == Digits::lower ? "lower" : "upper";
                         });

TEST_P(AName, KeepsWhatIsHarmlessAsItIs) {
    EXPECT_EQ(escaped("orders/42_a.b-c:D", GetParam()), "orders/42_a.b-c:D");
    EXPECT_EQ(escaped("", GetParam()), "");
    EXPECT_EQ(escaped("it's %41", GetParam()), "it%27s%20%2541");
}

TEST_P(AName, HasNoBraceNoStarAndNoControlByteAsText) {
    const auto text = escaped(every_byte(), GetParam());
    EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789._-/:%"),
              std::string::npos);
}

TEST_P(AName, IsFoundAgain) {
    for (const std::string& name : {every_byte(), std::string("50%25"), std::string("%")}) {
        EXPECT_EQ(unescaped(escaped(name, GetParam()), GetParam()), name);
    }
}

TEST_P(AName, IsNothingWhenTheTextIsNoNames) {
    for (const auto* const text :
         {"a b", "{a}", "%", "%2", "%2g", "a%4", "é", "%g0", "%zz", "%shedlock/x"}) {
        EXPECT_EQ(unescaped(text, GetParam()), std::nullopt) << text;
    }
}

TEST(AName, HasDigitsOfOneCaseAlone) {
    EXPECT_EQ(escaped("{a}*", Digits::upper), "%7Ba%7D%2A");
    EXPECT_EQ(escaped("{a}*", Digits::lower), "%7ba%7d%2a");
    EXPECT_EQ(unescaped("%7b", Digits::upper), std::nullopt);
    EXPECT_EQ(unescaped("%7B", Digits::lower), std::nullopt);
}

TEST(Bytes, AreDigits) {
    EXPECT_EQ(hex_of(std::string_view("a\xff")), "61ff");
    EXPECT_EQ(from_hex("61ff"), "a\xff");
    EXPECT_FALSE(from_hex("6"));
}

TEST(ANonce, IsTheSameAfterItWasText) {
    Nonce nonce;
    for (std::size_t i = 0; i < nonce.bytes.size(); ++i) {
        nonce.bytes[i] = static_cast<std::byte>(16 * i + 15 - i);
    }
    EXPECT_EQ(hex_of(nonce), "0f1e2d3c4b5a69788796a5b4c3d2e1f0");
    EXPECT_EQ(nonce_of(hex_of(nonce)), nonce);
    EXPECT_EQ(hex_of(Nonce{}), std::string(32, '0'));
    EXPECT_TRUE(nonce_of(random_client()));
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
}  // namespace holdfast::scripted
