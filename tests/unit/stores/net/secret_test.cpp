#include "stores/net/secret.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

using net::quotable;
using net::without_secret;

TEST(Secret, IsCutOutWhereverItStands) {
    EXPECT_EQ(without_secret("ERR unknown command 'AUTH', with args beginning with: 'hunter2!' ",
                             "hunter2!"),
              "ERR unknown command 'AUTH', with args beginning with: '***' ");
    EXPECT_EQ(without_secret("xhunter2!xhunter2!", "hunter2!"), "x***x***");
    EXPECT_EQ(without_secret("hunter2!", "hunter2!"), "***");
}

TEST(Secret, IsCutOutWhereOnlyItsBeginningIsQuoted) {
    const std::string secret(200, 'k');
    const std::string said = without_secret("args: '" + secret.substr(0, 128) + "'", secret);
    EXPECT_EQ(said, "args: '***'");
    EXPECT_EQ(without_secret("correct horse batt...", "correct horse battery staple"), "***...");
}

TEST(Secret, ThatIsShortIsCutOutAsAWordAlone) {
    EXPECT_EQ(without_secret("a user may not: 'a', a=1", "a"), "*** user may not: '***', ***=1");
    EXPECT_EQ(without_secret("unknown command", "now"), "unknown command");
    EXPECT_EQ(without_secret("args: 'now'", "now"), "args: '***'");
}

TEST(Secret, ThatIsNoneLeavesTheTextAsItIs) {
    EXPECT_EQ(without_secret("it answered: hello", ""), "it answered: hello");
    EXPECT_EQ(without_secret("", "hunter2!"), "");
    EXPECT_EQ(without_secret("hunt", "hunter2!"), "hunt");
}

TEST(Quotation, IsOnOneLineAndOfALengthThatOneReads) {
    EXPECT_EQ(quotable("the key 'or\xc3\xa9'"), "the key 'or\xc3\xa9'");
    EXPECT_EQ(quotable(std::string("a\0b\x1b[2J\n\x7f", 9)), "a\\x00b\\x1b[2J\\x0a\\x7f");
    EXPECT_EQ(quotable(std::string(300, 'x')), std::string(300, 'x'));
    EXPECT_EQ(quotable(std::string(1'000'000, 'x')), std::string(300, 'x') + "...");
    EXPECT_EQ(quotable(std::string(299, 'x') + "\xc3\xa9."), std::string(299, 'x') + "...");
    EXPECT_EQ(without_secret("a\nb" + std::string(1000, 'x'), "secret"),
              "a\\x0ab" + std::string(297, 'x') + "...");
}

}  // namespace
}  // namespace holdfast::test
