#include "stores/etcd/line_keys.hpp"

#include <gtest/gtest.h>

#include "stores/listed/note.hpp"

namespace holdfast::etcd {
namespace {

constexpr std::int64_t lease = 0x694d8ab5;

messages::KeyValue pair(std::string key, std::int64_t bound_to = lease, std::int64_t revision = 7,
                        std::string value = "") {
    messages::KeyValue one;
    one.set_key(std::move(key));
    one.set_lease(bound_to);
    one.set_create_revision(revision);
    one.set_value(std::move(value));
    return one;
}

std::string note(std::uint64_t weight, std::uint64_t capacity) {
    return listed::note_of({.resource = "orders",
                            .nonce = {{std::byte{9}}},
                            .owner = "me",
                            .weight = weight,
                            .capacity = capacity});
}

TEST(ALineKey, IsTheNameTheLeaseAndTheSlot) {
    EXPECT_EQ(key_of("orders/42", lease, 0), "orders/42/694d8ab5-0");
    EXPECT_EQ(key_of("a", lease, 31), "a/694d8ab5-1f");
}

TEST(ALineKey, OfOursTellsTheShareAndTheNonce) {
    const auto neighbour = neighbour_of(pair("orders/694d8ab5-0", lease, 7, note(2, 5)), "orders/");
    ASSERT_TRUE(neighbour);
    EXPECT_EQ(neighbour->order, 7);
    EXPECT_EQ(neighbour->weight, 2U);
    EXPECT_EQ(neighbour->capacity, 5U);
    EXPECT_EQ(neighbour->nonce, Nonce{{std::byte{9}}});
}

TEST(ALineKey, OfOursMayHaveBeenBoundToAnotherLeaseSince) {
    EXPECT_TRUE(neighbour_of(pair("orders/694d8ab5-0", 1234, 7, note(1, 1)), "orders/"));
}

TEST(ALineKey, OfOthersIsExclusive) {
    const auto neighbour = neighbour_of(pair("orders/694d8ab5", lease, 7, "anything"), "orders/");
    ASSERT_TRUE(neighbour);
    EXPECT_EQ(neighbour->weight, all);
    EXPECT_EQ(neighbour->capacity, all);
    EXPECT_FALSE(neighbour->nonce);
}

TEST(ALineKey, IsNoContendersWithoutItsLeaseOrWithAFurtherSlash) {
    EXPECT_FALSE(neighbour_of(pair("orders/694d8ab5", 0), "orders/"));
    EXPECT_FALSE(neighbour_of(pair("orders/694d8ab5", 1234), "orders/"));
    EXPECT_FALSE(neighbour_of(pair("orders/42/694d8ab5"), "orders/"));
    EXPECT_FALSE(neighbour_of(pair("orders/694d8ab5-0"), "orders/")) << "it has no note";
    EXPECT_FALSE(neighbour_of(pair("orders/x-0", lease, 7, note(1, 1)), "orders/"));
    EXPECT_FALSE(neighbour_of(pair(guard_of("orders", {})), "orders!/"));
}

TEST(ALineKey, TellsItsResource) {
    EXPECT_EQ(resource_of("orders/42/694d8ab5"), "orders/42");
    EXPECT_EQ(resource_of("orders"), std::nullopt);
}

TEST(TheEndOfARange, IsTheFirstKeyBehindIt) {
    EXPECT_EQ(end_of("orders/"), "orders0");
    EXPECT_EQ(end_of("a\xff"), "b");
    EXPECT_EQ(end_of(""), std::string(1, '\0'));
}

TEST(ALine, IsInTheOrderOfTheRevisions) {
    Pairs pairs;
    *pairs.Add() = pair("orders/694d8ab6", lease + 1, 9);
    *pairs.Add() = pair("orders/42/694d8ab5", lease, 8);
    *pairs.Add() = pair("orders/694d8ab5", lease, 7);
    const auto line = line_in(pairs, "orders/");
    ASSERT_EQ(line.size(), 2U);
    EXPECT_EQ(line[0].node, "orders/694d8ab5");
    EXPECT_EQ(line[1].node, "orders/694d8ab6");
}

}  // namespace
}  // namespace holdfast::etcd
