#include "support/resp.hpp"
#include "support/suite.hpp"

namespace holdfast::test {
namespace {

std::string text_of(std::string_view input) {
    const auto value = read_resp(input);
    if (!value) return "incomplete";
    return to_text(*value) + (input.empty() ? "" : " and " + std::string(input));
}

TEST(Resp, RepliesAreRenderedAsText) {
    EXPECT_EQ(text_of("+OK\r\n"), "OK");
    EXPECT_EQ(text_of("-ERR no\r\n"), "-ERR no");
    EXPECT_EQ(text_of(":-12\r\n"), "-12");
    EXPECT_EQ(text_of("$5\r\na\r\nbc\r\n"), "a\r\nbc");
    EXPECT_EQ(text_of("$0\r\n\r\n"), "");
    EXPECT_EQ(text_of("$-1\r\n"), "(nil)");
    EXPECT_EQ(text_of("*-1\r\n"), "(nil)");
    EXPECT_EQ(text_of("*0\r\n"), "[]");
    EXPECT_EQ(text_of("*2\r\n$1\r\na\r\n*2\r\n:1\r\n$-1\r\n"), "[a, [1, (nil)]]");
}

TEST(Resp, VersionThreeIsUnderstood) {
    EXPECT_EQ(text_of("_\r\n"), "(nil)");
    EXPECT_EQ(text_of("%1\r\n+key\r\n#t\r\n"), "[key, t]");
    EXPECT_EQ(text_of(">2\r\n+message\r\n=7\r\ntxt:abc\r\n"), "[message, txt:abc]");
    EXPECT_EQ(text_of("!5\r\nERR a\r\n"), "-ERR a");
    EXPECT_EQ(text_of("|1\r\n+ttl\r\n:3\r\n+value\r\n"), "[ttl, 3, value]");
}

TEST(Resp, OneValueIsTakenAtATime) {
    EXPECT_EQ(text_of("+OK\r\n+next\r\n"), "OK and +next\r\n");
}

TEST(Resp, WhatIsCutAnywhereIsIncompleteAndLeftAlone) {
    const std::string whole = "*3\r\n$1\r\na\r\n*1\r\n:1\r\n%1\r\n+k\r\n$2\r\nvv\r\n";
    for (std::size_t size = 0; size < whole.size(); ++size) {
        std::string_view part = std::string_view(whole).substr(0, size);
        EXPECT_FALSE(read_resp(part)) << size;
        EXPECT_EQ(part.size(), size);
    }
    EXPECT_EQ(text_of(whole), "[a, [1], [k, vv]]");
}

TEST(Resp, ARequestHasItsWordsBack) {
    const std::vector<std::string> words = {"SET", "a b", std::string("\0\r\n", 3), ""};
    EXPECT_EQ(words_of(to_resp(words)), words);
}

TEST(Resp, AnInlineCommandIsARequestToo) {
    EXPECT_EQ(words_of("PING  hello\r\n"), (std::vector<std::string>{"PING", "hello"}));
}

}  // namespace
}  // namespace holdfast::test
