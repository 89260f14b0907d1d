#include "stores/memcached/reply.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <holdfast/error.hpp>

namespace holdfast::memcached {
namespace {

using Kind = Reply::Kind;
using namespace std::string_literals;

Reply only_reply(std::string_view bytes) {
    ReplyReader reader;
    reader.feed(bytes);
    auto reply = reader.next();
    EXPECT_TRUE(reply) << bytes;
    EXPECT_EQ(reader.next(), std::nullopt) << bytes;
    return reply.value_or(Reply{});
}

TEST(AMemcachedReply, OfEachKindIsRead) {
    EXPECT_EQ(only_reply("HD c12 O7\r\n"), (Reply{.kind = Kind::done, .cas = 12, .number = 7}));
    EXPECT_EQ(only_reply("HD\r\n"), (Reply{.kind = Kind::done}));
    EXPECT_EQ(only_reply("NS c0 O1\r\n"), (Reply{.kind = Kind::not_stored, .number = 1}));
    EXPECT_EQ(only_reply("EX O2\r\n"), (Reply{.kind = Kind::changed, .number = 2}));
    EXPECT_EQ(only_reply("NF O3\r\n"), (Reply{.kind = Kind::missing, .number = 3}));
    EXPECT_EQ(only_reply("EN\r\n"), (Reply{.kind = Kind::missing}));
    EXPECT_EQ(only_reply("MN\r\n"), (Reply{.kind = Kind::alive}));
    EXPECT_EQ(only_reply("STORED\r\n"), (Reply{.kind = Kind::stored}));
    EXPECT_EQ(only_reply("VERSION 1.6.18\r\n"), (Reply{.kind = Kind::version, .text = "1.6.18"}));
}

TEST(AMemcachedReply, HasTheItemsValueAndHowLongItLives) {
    EXPECT_EQ(only_reply("VA 4 c18446744073709551615 t-1 O9\r\n\r\n\r\n\r\n"),
              (Reply{.kind = Kind::value,
                     .text = "\r\n\r\n",
                     .cas = 18446744073709551615U,
                     .seconds = -1,
                     .number = 9}));
    EXPECT_EQ(only_reply("VA 0 t30\r\n\r\n"), (Reply{.kind = Kind::value, .seconds = 30}));
}

TEST(AMemcachedReply, TellsErrorsWhole) {
    for (const std::string& line :
         {"ERROR"s, "CLIENT_ERROR bad data chunk"s, "SERVER_ERROR out of memory storing object"s}) {
        EXPECT_EQ(only_reply(line + "\r\n"), (Reply{.kind = Kind::error, .text = line}));
    }
}

TEST(AMemcachedReply, SkipsFlagsThatNobodyAskedFor) {
    EXPECT_EQ(only_reply("HD W X kname c3\r\n"), (Reply{.kind = Kind::done, .cas = 3}));
}

TEST(AMemcachedReply, IsReadFromPiecesOfAnySize) {
    const std::string bytes = "HD c1 O1\r\nVA 6 c2 t3 O2\r\nab\r\nMN\r\nEN\r\nNF O3\r\n";
    for (std::size_t size = 1; size <= bytes.size(); ++size) {
        ReplyReader reader;
        std::vector<Reply> replies;
        for (std::size_t at = 0; at < bytes.size(); at += size) {
            reader.feed(std::string_view(bytes).substr(at, size));
            while (auto reply = reader.next()) replies.push_back(*std::move(reply));
        }
        ASSERT_EQ(replies.size(), 4U) << size;
        EXPECT_EQ(replies[1].text, "ab\r\nMN") << size;
    }
}

TEST(AMemcachedReply, ThatIsNoneIsABreachForGood) {
    for (const char* bytes :
         {"+PONG\r\n", "\r\n", "HTTP/1.1 400\r\n", "VA x\r\n", "HD cx\r\n", "VA 2 c1\r\nabc\r\n",
          "VA 99999999999999999999\r\n", "VA 1000000000\r\n"}) {
        ReplyReader reader;
        reader.feed(bytes);
        EXPECT_THROW(reader.next(), Error) << bytes;
        reader.feed("HD\r\n");
        EXPECT_THROW(reader.next(), Error) << bytes;
    }
    ReplyReader reader;
    reader.feed(std::string(5000, 'x'));
    EXPECT_THROW(reader.next(), Error);
}

}  // namespace
}  // namespace holdfast::memcached
