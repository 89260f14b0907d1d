#include "stores/etcd/lease_book.hpp"

#include <gtest/gtest.h>

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;

Moment at(std::chrono::milliseconds time) {
    return Moment{time};
}

TEST(LeaseProof, CountsFromTheEarliestSend) {
    LeaseProof proof;
    proof.add(at(20ms), 7);
    proof.add(at(10ms), 7);
    proof.add(at(30ms), 7);
    EXPECT_EQ(proof.since(), at(10ms));
}

TEST(LeaseProof, IsNoneWhenAnotherLeaderAnswered) {
    LeaseProof proof;
    EXPECT_EQ(proof.since(), std::nullopt);
    proof.add(at(10ms), 7);
    proof.add(at(20ms), 8);
    EXPECT_EQ(proof.since(), std::nullopt);
    proof.add(at(20ms), 8);
    EXPECT_EQ(proof.since(), std::nullopt) << "nor when it answers once more";
}

}  // namespace
}  // namespace holdfast::etcd
