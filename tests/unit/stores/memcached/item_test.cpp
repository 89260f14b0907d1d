#include "stores/memcached/item.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "stores/memcached/command.hpp"

namespace holdfast::memcached {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

Contender contender(std::string owner = "me") {
    return {.resource = "holdfast/orders",
            .nonce = {{std::byte{1}, std::byte{0xfe}}},
            .owner = std::move(owner),
            .host = "h 1",
            .pid = 42};
}

TEST(AKey, IsTheEscapedNameAndOfALongOneItsBeginningAndItsDigest) {
    const auto layout = holdfast_layout();
    EXPECT_EQ(layout->key_of("holdfast/orders"), "holdfast/orders");
    EXPECT_EQ(layout->key_of("a b\n~"), "a%20b%0a%7e");
    const std::string key = layout->key_of(std::string(4096, 'x'));
    EXPECT_EQ(key.size(), 250U);
    EXPECT_TRUE(key.starts_with(std::string(185, 'x') + "~")) << key;
}

TEST(AKey, IsNeverThatOfTwoNames) {
    const auto layout = holdfast_layout();
    std::vector<std::string> names{"a", "a ", "a%20", "A", "\0"s, "\0\0"s, "\x7f", "\xff", "~"};
    for (std::size_t size = 240; size < 260; ++size) {
        names.push_back(std::string(size, 'x'));
        names.push_back(std::string(size, 'x') + "y");
        names.push_back(std::string(size, '\n'));
        // Names that look like the keys of others.
        names.push_back(layout->key_of(std::string(size, '\n')));
    }
    const std::set<std::string> different(names.begin(), names.end());
    std::set<std::string> keys;
    for (const std::string& name : different) {
        const std::string key = layout->key_of(name);
        EXPECT_LE(key.size(), 250U);
        for (const char c : key) EXPECT_GT(static_cast<unsigned char>(c), 0x20U);
        keys.insert(key);
    }
    EXPECT_EQ(keys.size(), different.size());
}

TEST(APlainKey, IsTheNameOrIsRefused) {
    const auto layout = plain_layout();
    EXPECT_EQ(layout->key_of("orders:42%~\xff"), "orders:42%~\xff");
    EXPECT_EQ(layout->objection_to("orders:42%~\xff"), std::nullopt);
    EXPECT_EQ(layout->objection_to(std::string(250, 'x')), std::nullopt);
    for (const std::string& name : {std::string(251, 'x'), "a b"s, "a\n"s, "\0"s, "\x7f"s}) {
        EXPECT_TRUE(layout->objection_to(name)) << name;
    }
}

TEST(AValue, TellsWhoseItIs) {
    const auto layout = holdfast_layout();
    const std::string value = value_at(Deed::made, value_of(contender("some body\r\n")));
    EXPECT_EQ(value.find('\n'), std::string::npos);
    EXPECT_EQ(nonce_in(value), contender().nonce);
    const Place place = place_in("holdfast/orders", value, {7, 1});
    EXPECT_EQ(place.owner, "some body\r\n");
    EXPECT_EQ(place.host, "h 1");
    EXPECT_EQ(place.pid, 42);
    EXPECT_FALSE(place.foreign);
    const Identity who = identity_of(place.ticket, *layout);
    EXPECT_TRUE(is_of(value, {7, 1}, who));
    const std::string renewed = value_at(Deed::kept, value_of(contender("some body\r\n")));
    EXPECT_TRUE(is_of(renewed, {8, 2}, who)) << "whatever its version is by now";
    EXPECT_EQ(place_in("holdfast/orders", renewed, {8, 2}).owner, "some body\r\n");
}

TEST(AValue, TellsWhetherItWasKept) {
    for (const Deed deed : {Deed::made, Deed::kept}) {
        EXPECT_EQ(deed_in(value_at(deed, value_of(contender()))), deed);
        EXPECT_EQ(deed_in(value_at(deed, value_of(contender("kept")))), deed);
        EXPECT_EQ(deed_in(value_at(deed, value_of(contender("")))), deed);
    }
    EXPECT_EQ(deed_in("kept"), Deed::made);
}

TEST(AValue, OfOthersIsForeignAndKnownByItself) {
    const auto layout = plain_layout();
    for (const std::string& value :
         {"1"s, ""s, "holdfast"s, "holdfast x 1 a b made"s, "holdfast 1 2 3"s,
          "holdfast " + std::string(32, '0') + " 1 a b made"}) {
        EXPECT_EQ(nonce_in(value), std::nullopt) << value;
        const Place place = place_in("orders", value, {7, 1});
        EXPECT_TRUE(place.foreign) << value;
        EXPECT_FALSE(place.ticket.place.empty()) << "that is of one that was never answered";
        const Identity who = identity_of(place.ticket, *layout);
        EXPECT_TRUE(is_of(value, {7, 1}, who)) << value;
        EXPECT_FALSE(is_of(value + "2", {7, 1}, who)) << value;
        EXPECT_FALSE(is_of(value, {8, 1}, who)) << value << ", of one that came later";
        EXPECT_FALSE(is_of(value, {7, 2}, who)) << value << ", of another process of the server";
    }
}

TEST(AValue, IsFoundByTheNonceOfOneThatWasNeverAnswered) {
    const std::string value = value_at(Deed::made, value_of(contender()));
    EXPECT_TRUE(is_of(value, {7, 1}, {"holdfast/orders", contender().nonce, "k", {}}));
    EXPECT_FALSE(is_of(value, {7, 1}, {"holdfast/orders", Nonce{}, "k", {}}));
    EXPECT_FALSE(is_of("1", {7, 1}, {"holdfast/orders", Nonce{}, "k", {}}));
}

TEST(ALease, IsOfWholeSecondsAndOneMore) {
    EXPECT_EQ(seconds_for(100ms), 2);
    EXPECT_EQ(seconds_for(1000ms), 2);
    EXPECT_EQ(seconds_for(1001ms), 3);
    EXPECT_EQ(seconds_for(24h), 86401);
}

TEST(ACommand, IsWrittenAsTheServerWantsIt) {
    std::string bytes;
    Command::add("k", "v", 30s).append_to(bytes, 1);
    Command::replace("k", "v", 1500ms, 7).append_to(bytes, 2);
    Command::remove("k", 8).append_to(bytes, 3);
    Command::look("k").append_to(bytes, 4);
    Command::nothing().append_to(bytes, 5);
    EXPECT_EQ(bytes,
              "ms k 1 c T31 ME O1\r\nv\r\n"
              "ms k 1 c T3 C7 O2\r\nv\r\n"
              "md k C8 O3\r\n"
              "mg k v c t O4\r\n"
              "mn\r\n");
}

}  // namespace
}  // namespace holdfast::memcached
