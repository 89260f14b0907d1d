#include "support/proxy_protocol.hpp"
#include "support/suite.hpp"

namespace holdfast::test {
namespace {

using namespace std::string_literals;

constexpr char data = 0;
constexpr char headers = 1;
constexpr char ends_stream = 1;

std::string frame(char type, char flags, char stream, const std::string& content) {
    return "\0\0"s + static_cast<char>(content.size()) + type + flags + "\0\0\0"s + stream +
           content;
}
/// Behind its length, as gRPC has it.
std::string message(const std::string& content) {
    return "\0\0\0\0"s + static_cast<char>(content.size()) + content;
}
std::string field(int number, const std::string& content) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} +
           content;
}
std::string call(const std::string& content) {
    return frame(data, ends_stream, 1, message(content));
}

const std::string compares = field(1, field(3, "key"));
const std::string puts = field(2, field(2, field(1, "key")));
const std::string deletes = field(2, field(3, field(1, "key")));
const std::string reads = field(2, field(1, field(1, "key")));
const std::string number = "\x08\x07";

TEST(Http2Protocol, FramesAreToldApart) {
    const auto protocol = http2_protocol();
    const std::string greeting = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const std::string first = frame(headers, 0, 1, "abc");
    EXPECT_EQ(protocol->size_of_first(greeting + first), greeting.size());
    EXPECT_EQ(protocol->size_of_first(greeting.substr(0, 20)), std::nullopt);
    EXPECT_EQ(protocol->size_of_first(first + first), first.size());
    EXPECT_EQ(protocol->size_of_first(first.substr(0, first.size() - 1)), std::nullopt);
    EXPECT_EQ(protocol->size_of_first(first.substr(0, 5)), std::nullopt);
}

TEST(Http2Protocol, TheReplyToACallIsTheFirstHeadersOnItsStream) {
    const auto protocol = http2_protocol();
    EXPECT_EQ(protocol->replies_to(frame(headers, 0, 1, "abc")), 0U);
    EXPECT_EQ(protocol->replies_to(frame(data, ends_stream, 1, "abc")), 1U);
    EXPECT_EQ(protocol->replies_to(frame(data, 0, 3, "a stream goes on")), 0U);
    EXPECT_TRUE(protocol->is_push(frame(data, 0, 3, "and is answered")));
    EXPECT_TRUE(protocol->is_push(frame(headers, 0, 3, "abc")));
    EXPECT_FALSE(protocol->is_push(frame(headers, 0, 1, "abc")));
    EXPECT_TRUE(protocol->is_push(frame(data, 0, 1, "what follows")));
    EXPECT_TRUE(protocol->is_push(frame(headers, ends_stream, 1, "how it went")));
}

TEST(Http2Protocol, WhatEtcdIsAskedIsSeen) {
    EXPECT_EQ(etcd_verb(call(compares + puts + reads)), EtcdVerb::enter);
    EXPECT_EQ(etcd_verb(call(puts)), EtcdVerb::guard);
    EXPECT_EQ(etcd_verb(call(compares + deletes)), EtcdVerb::leave);
    EXPECT_EQ(etcd_verb(call(compares + reads)), EtcdVerb::look);
    EXPECT_EQ(etcd_verb(call(field(1, "key"))), EtcdVerb::leave);
    EXPECT_EQ(etcd_verb(call(field(1, "the key of a range") + "\x40\x01")), std::nullopt);
    EXPECT_EQ(etcd_verb(call(number)), std::nullopt);
    EXPECT_EQ(etcd_verb(frame(data, 0, 1, message(number))), EtcdVerb::keep_alive);
    EXPECT_EQ(etcd_verb(frame(data, 0, 1, message(field(1, field(1, "key"))))), EtcdVerb::watch);
    EXPECT_EQ(etcd_verb(frame(headers, 0, 1, "abc")), std::nullopt);
    EXPECT_EQ(etcd_verb("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), std::nullopt);
}

}  // namespace
}  // namespace holdfast::test
