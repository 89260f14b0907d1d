#include "stores/zookeeper/session.hpp"

#include <gtest/gtest.h>

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Moment start{100s};

TEST(ASessionProof, BeginsWithTheSession) {
    SessionProof proof(2s);
    proof.made(start);
    EXPECT_EQ(proof.heard_at(), start);
}

TEST(ASessionProof, IsNotWhatAServerAnswersByItself) {
    SessionProof proof(2s);
    proof.made(start);
    proof.answered(start + 10s, start + 10s);
    EXPECT_EQ(proof.heard_at(), start) << "it may be cut off from its leader";
}

TEST(ASessionProof, NeedsATickBetweenWhatWasHeardAndAWrite) {
    SessionProof proof(2s);
    proof.made(start);
    proof.answered(start + 10s, start + 10s + 5ms);
    proof.answered_by_majority(start + 11s);
    EXPECT_EQ(proof.heard_at(), start) << "it may not have been reported yet";
    proof.answered_by_majority(start + 12s + 5ms);
    EXPECT_EQ(proof.heard_at(), start + 10s);
}

TEST(ASessionProof, OfASessionThatWasTakenUpComesWithTheNextWrite) {
    SessionProof proof(2s);
    proof.made(start);
    proof.taken_up(start + 10s);
    EXPECT_EQ(proof.heard_at(), start) << "it may be a leader that was left by its followers";
    proof.answered_by_majority(start + 10s + 1ms);
    EXPECT_EQ(proof.heard_at(), start + 10s);
}

TEST(ASessionProof, OfABusyClientIsLittleMoreThanATickOld) {
    SessionProof proof(2s);
    proof.made(start);
    Moment now = start;
    for (int i = 0; i < 10'000; ++i) {
        proof.answered(now, now + 1ms);
        proof.answered_by_majority(now);
        now += 2ms;
    }
    EXPECT_LT(now - proof.heard_at(), 2600ms);
}

TEST(ASessionProof, NeverGoesBack) {
    SessionProof proof(1s);
    proof.made(start + 5s);
    proof.answered(start, start + 1s);
    proof.answered_by_majority(start + 10s);
    EXPECT_EQ(proof.heard_at(), start + 5s);
}

TEST(ALease, CountsFromTheRequestWhereTheSessionIsLongEnough) {
    EXPECT_EQ(counted_from(start + 10s, start, 40s, 30s), start + 10s);
    EXPECT_EQ(counted_from(start + 12s, start, 40s, 30s), start + 10s);
}

TEST(ALease, NeverEndsAfterTheSession) {
    for (const auto lease : {1s, 10s, 39s, 40s}) {
        for (const auto later : {0s, 1s, 20s, 39s}) {
            EXPECT_LE(counted_from(start + later, start, 40s, lease) + lease, start + 40s);
        }
    }
}

}  // namespace
}  // namespace holdfast::zookeeper
