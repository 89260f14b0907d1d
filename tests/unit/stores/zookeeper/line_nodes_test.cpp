#include "stores/zookeeper/line_nodes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace holdfast::zookeeper {
namespace {

Contender contender(std::uint64_t weight, std::uint64_t capacity, Form form) {
    Contender one{
        .resource = "orders", .nonce = {}, .owner = "me", .weight = weight, .capacity = capacity};
    one.form = form;
    for (std::size_t i = 0; i < one.nonce.bytes.size(); ++i) {
        one.nonce.bytes[i] = static_cast<std::byte>(i * 17);
    }
    return one;
}

std::vector<std::int64_t> order_of(const std::vector<std::string>& children) {
    std::vector<std::int64_t> sequences;
    for (const Neighbour& one : line_in("/orders", children)) sequences.push_back(one.order);
    return sequences;
}

TEST(ALineNode, HasCuratorsNames) {
    const std::string start = "_c_00112233-4455-6677-8899-aabbccddeeff-";
    EXPECT_EQ(node_name(contender(all, all, Form::mutex)), start + "lock-");
    EXPECT_EQ(node_name(contender(all, all, Form::read_write)), start + "__WRIT__");
    EXPECT_EQ(node_name(contender(1, all, Form::read_write)), start + "__READ__");
    EXPECT_EQ(node_name(contender(2, 5, Form::permits)), start + "permit-2-of-5-lock-");
}

TEST(ALineNode, IsReadFromWhatItWasCalled) {
    for (const auto& one : {contender(all, all, Form::mutex), contender(all, all, Form::read_write),
                            contender(1, all, Form::read_write), contender(2, 5, Form::permits),
                            contender(7, all, Form::permits), contender(1, 1, Form::permits)}) {
        const auto neighbour = neighbour_of(node_name(one) + "0000000042");
        ASSERT_TRUE(neighbour);
        EXPECT_EQ(neighbour->order, 42);
        EXPECT_EQ(neighbour->weight, one.weight);
        EXPECT_EQ(neighbour->capacity, one.capacity);
        EXPECT_EQ(neighbour->nonce, one.nonce);
    }
}

TEST(ALineNode, MayBeAnothers) {
    // go-zk, kazoo, Curator without protection.
    EXPECT_EQ(neighbour_of("_c_00112233445566778899aabbccddeeff-lock-0000000007")->order, 7);
    EXPECT_EQ(neighbour_of("00112233445566778899aabbccddeeff__lock__0000000008")->weight, all);
    EXPECT_EQ(neighbour_of("00112233445566778899aabbccddeeff__rlock__0000000009")->weight, 1U);
    EXPECT_EQ(neighbour_of("lock-0000000010")->order, 10);
}

TEST(ALineNode, IsNotWhatFitsNoForm) {
    for (const char* child : {"", "orders", "0000000001", "lock-", "lock-1", "lock-000000000x",
                              "clock-face", "_c_x-lock-99999999999999", "x-lease-0000000001"}) {
        EXPECT_FALSE(neighbour_of(child)) << child;
    }
}

TEST(ALineNode, WithPermitsThatCannotBeMeantIsOneForAll) {
    for (const char* child :
         {"x-permit-0-of-3-lock-0000000001", "x-permit-4-of-3-lock-0000000001",
          "x-permit-a-of-3-lock-0000000001", "x-permit-1-of-99999999999-lock-0000000001"}) {
        ASSERT_TRUE(neighbour_of(child)) << child;
        EXPECT_EQ(neighbour_of(child)->weight, all) << child;
    }
}

TEST(LineNodes, AreInTheOrderOfTheirSequenceWhoeverTheyBelongTo) {
    EXPECT_EQ(
        order_of({"b-lock-0000000003", "a__lock__0000000001", "stranger", "c-__READ__0000000002"}),
        (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(LineNodes, AreListedWithTheirPath) {
    EXPECT_EQ(line_in("/orders", {"lock-0000000001"}).front().node, "/orders/lock-0000000001");
}

TEST(LineNodes, AreInOrderAlsoWhereTheSequenceWraps) {
    EXPECT_EQ(order_of({"a-lock--2147483647", "b-lock-2147483646", "c-lock--2147483648",
                        "d-lock-2147483647"}),
              (std::vector<std::int64_t>{2147483646, 2147483647, -2147483647 - 1, -2147483647}));
    EXPECT_EQ(order_of({"a-lock-0000000000", "b-lock--000000001", "c-lock-0000000001"}),
              (std::vector<std::int64_t>{-1, 0, 1}));
}

/// Else two clients that see the same nodes might each take itself for the first.
TEST(LineNodes, AreInOneOrderHoweverTheyAreListedAndWhateverIsPlantedAmongThem) {
    for (const char* const planted :
         {"p-lock--2147483643", "p-lock--2147483642", "p-lock-2147483647", "p-lock--2147483648",
          "p-lock-0000000006", "p-lock-0000000005", "p-lock--000000001"}) {
        std::vector<std::string> children{"a-lock-0000000005", "b-lock-0000000006",
                                          "c-lock-0000000007", planted};
        std::ranges::sort(children);
        const auto order = order_of(children);
        const auto ours = [](const std::vector<Neighbour>& line) {
            std::string letters;
            for (const Neighbour& one : line) letters += one.node.substr(1, 1);
            std::erase(letters, 'p');
            return letters;
        };
        do {
            EXPECT_EQ(order_of(children), order) << planted;
            EXPECT_EQ(ours(line_in("", children)), "abc") << planted;
        } while (std::ranges::next_permutation(children).found);
    }
}

}  // namespace
}  // namespace holdfast::zookeeper
