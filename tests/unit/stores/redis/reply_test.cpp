#include "stores/redis/reply.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include <holdfast/error.hpp>

#include "stores/redis/command.hpp"
#include "unit/scarce_memory.hpp"

namespace holdfast::redis {
namespace {

using Kind = Reply::Kind;

Reply number(std::int64_t value) {
    return {.kind = Kind::integer, .integer = value};
}
Reply text(std::string value) {
    return {.kind = Kind::text, .text = std::move(value)};
}

Reply only_reply(std::string_view bytes) {
    ReplyReader reader;
    reader.feed(bytes);
    auto reply = reader.next();
    EXPECT_TRUE(reply) << bytes;
    EXPECT_EQ(reader.next(), std::nullopt) << bytes;
    return reply.value_or(Reply{});
}

TEST(AReply, OfEachKindIsRead) {
    EXPECT_EQ(only_reply("+OK\r\n"), (Reply{.kind = Kind::status, .text = "OK"}));
    EXPECT_EQ(only_reply("-ERR no\r\n"), (Reply{.kind = Kind::error, .text = "ERR no"}));
    EXPECT_TRUE(only_reply("-ERR no\r\n").is_error());
    EXPECT_EQ(only_reply(":9007199254740993\r\n"), number(9007199254740993));
    EXPECT_EQ(only_reply(":-1\r\n"), number(-1));
    EXPECT_EQ(only_reply("$2\r\n\r\n\r\n"), text("\r\n"));
    EXPECT_EQ(only_reply("$0\r\n\r\n"), text(""));
    EXPECT_EQ(only_reply("$-1\r\n"), Reply{});
    EXPECT_EQ(only_reply("*-1\r\n"), Reply{});
    EXPECT_EQ(only_reply("*0\r\n"), (Reply{.kind = Kind::array}));
}

TEST(AReply, HasItsElementsInOrder) {
    const Reply inner{.kind = Kind::array, .elements = {text("a"), Reply{}}};
    const Reply error{.kind = Kind::error, .text = "ERR x"};
    EXPECT_EQ(only_reply("*4\r\n:1\r\n*2\r\n$1\r\na\r\n$-1\r\n-ERR x\r\n*0\r\n"),
              (Reply{.kind = Kind::array,
                     .elements = {number(1), inner, error, Reply{.kind = Kind::array}}}));
}

TEST(AReply, IsReadFromPiecesOfAnySize) {
    const std::string bytes = "*3\r\n:12\r\n$5\r\nhello\r\n*1\r\n+x\r\n:7\r\n";
    for (std::size_t size = 1; size <= bytes.size(); ++size) {
        ReplyReader reader;
        std::vector<Reply> replies;
        for (std::size_t at = 0; at < bytes.size(); at += size) {
            reader.feed(std::string_view(bytes).substr(at, size));
            while (auto reply = reader.next()) replies.push_back(*std::move(reply));
        }
        ASSERT_EQ(replies.size(), 2U) << size;
        EXPECT_EQ(replies[0].elements[1], text("hello"));
        EXPECT_EQ(replies[1], number(7));
    }
}

TEST(AReply, MayBeLargerThanWhatIsFedAtOnce) {
    const std::string large(1'000'000, 'x');
    ReplyReader reader;
    reader.feed("$1000000\r\n");
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(reader.next(), std::nullopt);
        reader.feed(std::string_view(large).substr(0, 1000));
    }
    reader.feed("\r\n");
    EXPECT_EQ(reader.next(), text(large));
}

void expect_refused(std::string_view bytes) {
    ReplyReader reader;
    reader.feed(bytes);
    for (int i = 0; i < 2; ++i) {
        try {
            EXPECT_EQ(reader.next(), std::nullopt);
            ADD_FAILURE() << "accepted: " << bytes.substr(0, 40);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), errc::corrupt);
        }
        reader.feed("+OK\r\n");
    }
}

TEST(AReply, IsRefusedForEverWhenItIsNotTheProtocol) {
    expect_refused("HTTP/1.1 400 Bad Request\r\n");
    expect_refused(":12a\r\n");
    expect_refused("$x\r\n");
    expect_refused("*2\r\n!\r\n");
}

TEST(AReply, IsRefusedWhenItAnnouncesMoreElementsThanAnybodyAsksFor) {
    expect_refused("*1048577\r\n");
    expect_refused("*2147483647\r\n");
}

/// It would be told as a server of another kind, for good.
TEST(AReply, ForWhichThereIsNoMemoryIsNotTakenForSomethingElse) {
    const std::string word(100, 'x');
    const std::string bytes = "*2\r\n*1\r\n+" + word + "\r\n-" + word + "\r\n";
    for (std::size_t number = 1;; ++number) {
        ReplyReader reader;
        reader.feed(bytes);
        std::optional<Reply> reply;
        test::ScarceMemory scarce(number);
        const bool was_read = scarce.run([&] { reply = reader.next(); });
        if (!scarce.has_failed()) {
            EXPECT_EQ(reply.value().elements.at(1).text, word);
            break;
        }
        EXPECT_FALSE(was_read);
    }
}

TEST(AReply, IsRefusedWhenItIsNestedWithoutEnd) {
    std::string bytes;
    for (int i = 0; i < 1000; ++i) bytes += "*1\r\n";
    expect_refused(bytes);
}

std::string bytes_of(const Command& command) {
    std::string bytes = "before";
    command.append_to(bytes);
    return bytes.substr(6);
}

TEST(ACommand, IsAnArrayOfItsWords) {
    EXPECT_EQ(bytes_of({"PING"}), "*1\r\n$4\r\nPING\r\n");
    Command command{"SET", std::string_view("a\0b", 3)};
    command << "" << std::uint64_t{18'446'744'073'709'551'615U};
    EXPECT_EQ(bytes_of(command), std::string("*4\r\n$3\r\nSET\r\n$3\r\na\0b\r\n$0\r\n\r\n", 28) +
                                     "$20\r\n18446744073709551615\r\n");
    EXPECT_EQ(command.script(), nullptr);
}

TEST(ACommand, GrowsWithItsWords) {
    const std::string long_word(10'000, 'x');
    Command command{"SET"};
    command << Nonce{} << long_word << std::int64_t{-7};
    EXPECT_EQ(bytes_of(command), "*4\r\n$3\r\nSET\r\n$32\r\n" + std::string(32, '0') +
                                     "\r\n$10000\r\n" + long_word + "\r\n$2\r\n-7\r\n");
}

TEST(ACommand, AsksForItsScriptInTheWayThatIsLeft) {
    const Script script("return 1");
    EXPECT_EQ(script.digest(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    const std::string rest = "\r\n$1\r\n1\r\n$3\r\nkey\r\n$8\r\nargument\r\n";
    Command command(script, 1);
    command << "key"
            << "argument";
    EXPECT_EQ(bytes_of(command), "*5\r\n$5\r\nFCALL\r\n$49\r\nholdfast_" + script.digest() + rest);
    command.go_by(Way::digest);
    EXPECT_EQ(bytes_of(command), "*5\r\n$7\r\nEVALSHA\r\n$40\r\n" + script.digest() + rest);
    command.go_by(Way::text);
    EXPECT_EQ(bytes_of(command), "*5\r\n$4\r\nEVAL\r\n$8\r\nreturn 1" + rest);
    command.go_by(Way::function);
    EXPECT_EQ(command.way(), Way::text) << "what was refused once is not asked for again";
}

TEST(AScript, IsTheBodyOfAFunctionWithTheFlagsOfItsFirstLine) {
    const Script plain("return 1");
    EXPECT_EQ(plain.library(), "#!lua name=" + plain.function() +
                                   "\nredis.register_function{function_name='" + plain.function() +
                                   "', flags={}, callback=function(KEYS, ARGV)\nreturn 1\nend}");
    const Script flagged("#!lua flags=no-writes,allow-oom\nreturn #KEYS\n");
    EXPECT_EQ(flagged.library(),
              "#!lua name=" + flagged.function() + "\nredis.register_function{function_name='" +
                  flagged.function() +
                  "', flags={'no-writes', 'allow-oom', }, callback=function(KEYS, ARGV)\n\n"
                  "return #KEYS\n\nend}");
    EXPECT_NE(flagged.function(), plain.function());
}

}  // namespace
}  // namespace holdfast::redis
