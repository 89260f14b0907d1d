#include "stores/redlock/quorum.hpp"

#include <set>

#include "support/suite.hpp"

namespace holdfast::redlock {
namespace {

using Kind = Vote::Kind;
using Those = std::vector<std::size_t>;

constexpr Moment sent{1h};
constexpr std::chrono::milliseconds lease = 10s;
constexpr Terms three{.nodes = 3, .max_lease = 60s};
constexpr Terms five{.nodes = 5, .max_lease = 60s};

Nonce rival(int number) {
    Nonce nonce;
    nonce.bytes[0] = static_cast<std::byte>(number);
    return nonce;
}

Vote admitted(std::uint64_t fence) {
    return {.kind = Kind::admitted, .fence = fence};
}

Vote busy(int by, std::chrono::milliseconds after = 3s) {
    return {.kind = Kind::busy, .rival = rival(by), .after = after};
}

Vote forgetful(std::chrono::milliseconds after) {
    return {.kind = Kind::forgetful, .after = after};
}

constexpr Vote gone{.kind = Kind::gone};
constexpr Vote ahead{.kind = Kind::ahead};

Ballot ballot_of(Terms terms, const std::vector<Vote>& votes) {
    Ballot ballot(terms, lease, sent);
    for (std::size_t i = 0; i < votes.size(); ++i) ballot.entered(i, votes[i]);
    return ballot;
}

TEST(ABallot, IsDecidedByTheMajorityThatAgreesHoweverManyAreSilent) {
    Ballot ballot = ballot_of(five, {admitted(7), admitted(7)});
    EXPECT_EQ(ballot.decision(sent), Decision::open);
    ballot.entered(4, admitted(7));
    EXPECT_EQ(ballot.decision(sent), Decision::admitted);
    EXPECT_EQ(ballot.fence(), 7U);
    EXPECT_EQ(ballot.write_backs(), Those{});
}

TEST(ABallot, WritesTheHighestFenceBackAndIsAdmittedWhenAMajorityStoresIt) {
    Ballot ballot = ballot_of(five, {admitted(7), admitted(9), admitted(8)});
    EXPECT_EQ(ballot.decision(sent), Decision::open);
    EXPECT_EQ(ballot.fence(), 9U);
    EXPECT_EQ(ballot.write_backs(), (Those{0, 2}));
    EXPECT_EQ(ballot.write_backs(), Those{}) << "each is asked once";
    ballot.wrote_back(2, admitted(9));
    EXPECT_EQ(ballot.decision(sent), Decision::open);
    ballot.wrote_back(0, admitted(9));
    EXPECT_EQ(ballot.decision(sent), Decision::admitted);
}

/// Each node lets the one in before the other: neither is later.
TEST(ABallot, MayGiveReadersBesideEachOtherOneFence) {
    Ballot one = ballot_of(three, {admitted(7), admitted(8)});
    Ballot other = ballot_of(three, {admitted(8), admitted(7)});
    for (Ballot* ballot : {&one, &other}) {
        const std::size_t behind = ballot->write_backs().at(0);
        ballot->wrote_back(behind, admitted(8));
        EXPECT_EQ(ballot->decision(sent), Decision::admitted);
        EXPECT_EQ(ballot->fence(), 8U);
    }
}

TEST(ABallot, CountsALateHigherFenceAsStoredAndWritesALateLowerOneBack) {
    Ballot ballot = ballot_of(five, {admitted(7), admitted(9), admitted(8)});
    static_cast<void>(ballot.write_backs());
    ballot.entered(3, admitted(5));
    EXPECT_EQ(ballot.write_backs(), Those{3});
    ballot.entered(4, admitted(12));
    ballot.wrote_back(3, admitted(9));
    EXPECT_EQ(ballot.decision(sent), Decision::admitted);
    EXPECT_EQ(ballot.fence(), 9U);
}

TEST(ABallot, TakesALowerFenceWhereNoMajorityWouldStoreTheHighest) {
    Ballot ballot = ballot_of(three, {admitted(9'000), admitted(7)});
    EXPECT_EQ(ballot.write_backs(), Those{1});
    ballot.wrote_back(1, ahead);
    EXPECT_EQ(ballot.decision(sent), Decision::open) << "the third may still store it";
    ballot.entered(2, admitted(8));
    EXPECT_EQ(ballot.write_backs(), Those{2});
    ballot.wrote_back(2, ahead);
    EXPECT_EQ(ballot.fence(), 8U);
    EXPECT_EQ(ballot.write_backs(), Those{1});
    ballot.wrote_back(1, admitted(8));
    EXPECT_EQ(ballot.decision(sent), Decision::admitted);
}

TEST(ABallot, IsNotAdmittedByNodesThatDoNotAnswerToTheWriteBack) {
    Ballot ballot = ballot_of(three, {admitted(9), admitted(7)});
    static_cast<void>(ballot.write_backs());
    ballot.give_up();
    EXPECT_EQ(ballot.decision(sent), Decision::too_few);
}

TEST(ABallot, IsDecidedOnceItHasGivenUp) {
    Ballot ballot = ballot_of(five, {admitted(9'000), admitted(7), admitted(7)});
    EXPECT_EQ(ballot.write_backs(), (Those{1, 2}));
    ballot.wrote_back(1, ahead);
    ballot.wrote_back(2, ahead);
    EXPECT_EQ(ballot.decision(sent), Decision::open);
    Ballot with_another = ballot;
    ballot.give_up();
    EXPECT_EQ(ballot.decision(sent), Decision::too_few);
    EXPECT_EQ(ballot.write_backs(), Those{});
    with_another.entered(3, admitted(7));
    EXPECT_EQ(with_another.decision(sent), Decision::open);
    with_another.entered(4, busy(1));
    EXPECT_EQ(with_another.decision(sent), Decision::admitted) << "of the lower fence";
    EXPECT_EQ(with_another.fence(), 7U);
}

TEST(ABallot, IsNotAdmittedWhereItsLeaseWasOverBeforeTheWriteBack) {
    Ballot ballot = ballot_of(three, {admitted(9), admitted(7), busy(1)});
    static_cast<void>(ballot.write_backs());
    ballot.wrote_back(1, gone);
    EXPECT_NE(ballot.decision(sent), Decision::open);
    EXPECT_NE(ballot.decision(sent), Decision::admitted);
}

TEST(ABallot, IsLateWhenItsLeaseMayBeOver) {
    const Ballot ballot = ballot_of(three, {admitted(7), admitted(7)});
    const Moment over = counted_from(sent, lease) + lease;
    EXPECT_LT(over, sent + lease);
    EXPECT_EQ(ballot.decision(over - 1ns), Decision::admitted);
    EXPECT_EQ(ballot.decision(over), Decision::late);
}

TEST(ABallot, TellsARivalThatHoldsFromRivalsThatSplitTheNodes) {
    EXPECT_EQ(ballot_of(five, {busy(1), busy(1)}).decision(sent), Decision::open);
    EXPECT_EQ(ballot_of(five, {busy(1), busy(1), busy(1)}).decision(sent), Decision::held);
    EXPECT_EQ(ballot_of(five, {busy(1), busy(2), busy(1)}).decision(sent), Decision::contested);
    EXPECT_EQ(ballot_of(three, {admitted(7), busy(1), busy(2)}).decision(sent),
              Decision::contested);
}

TEST(ABallot, TellsNodesThatDoNotCountFromRivals) {
    EXPECT_EQ(ballot_of(three, {forgetful(4s), forgetful(5s)}).decision(sent), Decision::too_few);
    EXPECT_EQ(ballot_of(three, {forgetful(4s), ahead}).decision(sent), Decision::too_few);
    EXPECT_EQ(ballot_of(five, {busy(1), forgetful(4s), ahead, gone, busy(1)}).decision(sent),
              Decision::too_few);
    Ballot silent = ballot_of(three, {admitted(7)});
    silent.give_up();
    EXPECT_EQ(silent.decision(sent), Decision::too_few);
    EXPECT_EQ(silent.count(Kind::silent), 2U);
}

/// One that waits is told that there is no majority, and not for ever that others are in its way.
TEST(ABallot, TellsRivalsFromNodesThatAreAwayWhenAMajorityHasSaid) {
    const Vote silent{.kind = Kind::silent};
    Ballot ballot = ballot_of(three, {busy(1), silent});
    EXPECT_EQ(ballot.decision(sent), Decision::open);
    ballot.entered(2, silent);
    EXPECT_EQ(ballot.decision(sent), Decision::too_few);
    ballot = ballot_of(three, {busy(1), silent, busy(2)});
    EXPECT_EQ(ballot.decision(sent), Decision::contested);
    EXPECT_EQ(ballot_of(five, {busy(1), busy(2), silent, silent}).decision(sent), Decision::open);
    EXPECT_EQ(ballot_of(five, {busy(1), busy(2), silent, silent, admitted(7)}).decision(sent),
              Decision::contested);
}

TEST(ABallot, KnowsWhenEnoughNodesWillBeFree) {
    EXPECT_EQ(ballot_of(five, {busy(1, 4s), busy(1, 2s), busy(1, 3s)}).until_free(), 4s);
    EXPECT_EQ(ballot_of(five, {busy(1, 4s), busy(1, 2s), busy(1, 3s), busy(1, 9s)}).until_free(),
              4s);
    EXPECT_EQ(ballot_of(five, {admitted(7), busy(1, 4s), busy(1, 2s), busy(1, 3s)}).until_free(),
              3s);
    EXPECT_EQ(ballot_of(three, {forgetful(41s), forgetful(50s), busy(1, 2s)}).until_free(), 41s);
    EXPECT_EQ(ballot_of(three, {gone, gone}).until_free(), 0s);
}

TEST(ABallot, CountsTheFirstAnswerOfANode) {
    Ballot ballot = ballot_of(three, {busy(1)});
    ballot.entered(0, admitted(7));
    ballot.entered(1, admitted(7));
    EXPECT_EQ(ballot.decision(sent), Decision::open);
    ballot.wrote_back(0, admitted(7));
    EXPECT_EQ(ballot.decision(sent), Decision::open) << "nobody asked it to";
}

TEST(ATally, IsWhatAMajoritySays) {
    Tally tally(five);
    for (const std::size_t node : {0U, 1U}) tally.take(node, admitted(7));
    EXPECT_EQ(tally.decision(), Decision::open);
    tally.take(2, admitted(7));
    EXPECT_EQ(tally.decision(), Decision::admitted);
}

TEST(ATally, SaysGoneAsSoonAsNoMajorityCanHaveIt) {
    Tally tally(five);
    tally.take(0, admitted(7));
    tally.take(1, gone);
    tally.take(2, gone);
    EXPECT_EQ(tally.decision(), Decision::open);
    tally.take(3, gone);
    EXPECT_EQ(tally.decision(), Decision::gone);
}

TEST(ATally, DoesNotTakeSilenceOrForgetfulnessForAnEnd) {
    Tally tally(three);
    tally.take(0, admitted(7));
    tally.take(1, forgetful(4s));
    EXPECT_EQ(tally.decision(), Decision::open);
    tally.give_up();
    EXPECT_EQ(tally.decision(), Decision::too_few);
}

TEST(AProposal, IsALittleAheadOfTheHighestClockAndGoesOnWithOurs) {
    Proposals proposals(three);
    EXPECT_EQ(proposals.next(sent), 0U) << "nothing is known";
    proposals.heard(0, 1'000'000us, sent);
    proposals.heard(1, 3'000'000us, sent);
    EXPECT_EQ(proposals.next(sent), 3'001'000U);
    EXPECT_EQ(proposals.next(sent + 2s), 5'001'000U);
}

TEST(AProposal, FollowsAClockThatWasSetBack) {
    Proposals proposals(three);
    for (const std::size_t node : {0U, 1U, 2U}) proposals.heard(node, 100'000'000us, sent);
    for (const std::size_t node : {0U, 1U, 2U}) proposals.heard(node, 10'000'000us, sent);
    EXPECT_EQ(proposals.next(sent), 10'001'000U);
}

TEST(AProposal, LeavesOutAClockThatIsFarAheadOfMost) {
    Proposals proposals(three);
    proposals.heard(0, 1'000s, sent);
    proposals.heard(1, 1'001s, sent);
    proposals.heard(2, 5'000s, sent);
    EXPECT_EQ(proposals.next(sent), 1'001'001'000U);
    proposals.heard(2, 1s, sent);
    EXPECT_EQ(proposals.next(sent), 1'001'001'000U) << "nor does one far behind matter";
}

TEST(BackingOff, TakesLongerEachTimeAndNeverTheSameForTwo) {
    std::set<std::chrono::nanoseconds> delays;
    for (std::uint64_t random = 1; random < 100; ++random) {
        const auto delay = back_off(0, 1ms, random * 0x9e3779b97f4a7c15U);
        EXPECT_LT(delay, 2ms);
        delays.insert(delay);
    }
    EXPECT_GT(delays.size(), 95U);
    constexpr std::uint64_t last = 16'000'000 - 1;
    EXPECT_EQ(back_off(3, 1ms, last), 16ms - 1ns);
    EXPECT_LT(back_off(60, 1ms, ~std::uint64_t{0}), 1s);
}

TEST(ALeaseOnSeveralNodes, CountsFromBeforeTheSendByWhatTheirClocksRunApart) {
    EXPECT_EQ(counted_from(sent, 10s), sent - 102ms);
}

}  // namespace
}  // namespace holdfast::redlock
