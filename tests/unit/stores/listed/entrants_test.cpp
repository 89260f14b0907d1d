#include "stores/listed/entrants.hpp"

#include <gtest/gtest.h>

namespace holdfast::listed {
namespace {

using namespace std::chrono_literals;

constexpr Moment now{1000s};

Entrant entrant(unsigned char number, std::int64_t session = 1) {
    Entrant one;
    one.contender.resource = "orders";
    one.contender.nonce = {{std::byte{number}}};
    one.path = "/orders";
    one.node = "/orders/n" + std::to_string(number);
    one.session = session;
    one.lease_end = now + 10s;
    return one;
}

TEST(Entrants, AreToldOfANodeThatTheyWaitFor) {
    Entrants entrants;
    Entrant second = entrant(2);
    second.watched = {second.node, "/orders/n1"};
    second.next = true;
    entrants.add(second);
    entrants.is_watched(second.node, second.session);
    EXPECT_TRUE(entrants.stir("/orders/other", NodeEvent::ended).empty());
    EXPECT_EQ(entrants.stir("/orders/n1", NodeEvent::ended), std::vector{second.nonce()});
    EXPECT_TRUE(entrants.find(second.nonce())->its_turn);
    EXPECT_TRUE(entrants.take_stir(second.nonce()));
    EXPECT_FALSE(entrants.take_stir(second.nonce())) << "once";
}

TEST(Entrants, AreNotAdmittedByAnEndWhenTheirOwnNodeIsWatchedInAnotherSessionAlone) {
    Entrants entrants;
    Entrant second = entrant(2, 7);
    second.watched = {second.node, "/orders/n1"};
    second.next = true;
    entrants.add(second);
    entrants.is_watched(second.node, 8);
    // Its own end is told there, and is none of its session's.
    EXPECT_TRUE(entrants.stir(second.node, NodeEvent::ended, 8).empty());
    entrants.stir("/orders/n1", NodeEvent::ended, 7);
    EXPECT_FALSE(entrants.find(second.nonce())->its_turn) << "it may be gone: a list tells";
}

TEST(Entrants, DoNotTakeAChangeForAnEnd) {
    Entrants entrants;
    Entrant second = entrant(2);
    second.watched = {"/orders/n1"};
    second.next = true;
    entrants.add(second);
    entrants.stir("/orders/n1", NodeEvent::changed);
    EXPECT_FALSE(entrants.find(second.nonce())->its_turn);
}

TEST(Entrants, AreReplacedOnlyWhileTheyAreThere) {
    Entrants entrants;
    EXPECT_FALSE(entrants.replace(entrant(1)));
    EXPECT_FALSE(entrants.find(entrant(1).nonce()));
    entrants.add(entrant(1));
    Entrant next = entrant(1);
    next.node = "/orders/n7";
    EXPECT_TRUE(entrants.replace(next));
    EXPECT_EQ(entrants.find(next.nonce())->node, "/orders/n7");
}

TEST(Entrants, KnowTheirLatestRenewal) {
    Entrants entrants;
    const Entrant one = entrant(1);
    EXPECT_FALSE(entrants.begin_renewal(one.nonce(), 5)) << "of one that is not there";
    entrants.add(one);
    EXPECT_TRUE(entrants.begin_renewal(one.nonce(), 5));
    EXPECT_FALSE(entrants.begin_renewal(one.nonce(), 4));
    EXPECT_TRUE(entrants.begin_renewal(one.nonce(), 5)) << "it may be repeated";
    EXPECT_TRUE(entrants.begin_renewal(one.nonce(), 6));
}

TEST(Entrants, KnowWhatTheyWereBoundToLast) {
    Entrants entrants;
    Entrant one = entrant(1);
    one.fence = 10;
    entrants.add(one);
    EXPECT_EQ(entrants.find(one.nonce())->last_written(), 10);
    entrants.unsettle(one.nonce());
    entrants.found_bound(one.nonce(), 2, 11);
    EXPECT_EQ(entrants.find(one.nonce())->session, 2);
    EXPECT_TRUE(entrants.find(one.nonce())->unsettled) << "that it was seen is no answer";
    entrants.moved(one.nonce(), 3, 12);
    EXPECT_FALSE(entrants.find(one.nonce())->unsettled);
    entrants.moved(one.nonce(), 1, 11);
    EXPECT_EQ(entrants.find(one.nonce())->session, 3) << "nothing older counts";
    EXPECT_EQ(entrants.find(one.nonce())->last_written(), 12);
}

TEST(Entrants, ForgetWhatTheyWaitForNoMore) {
    Entrants entrants;
    Entrant one = entrant(2);
    one.watched = {"/orders/n1"};
    entrants.add(one);
    one.watched = {"/orders/n0"};
    entrants.add(one);
    EXPECT_TRUE(entrants.stir("/orders/n1", NodeEvent::ended).empty());
    one.watched = {"/orders/n5"};
    entrants.wait_for(one);
    EXPECT_TRUE(entrants.stir("/orders/n0", NodeEvent::ended).empty());
    EXPECT_TRUE(entrants.admit(one));
    EXPECT_TRUE(entrants.stir("/orders/n5", NodeEvent::ended).empty());
    EXPECT_TRUE(entrants.find(one.nonce())->admitted);
}

TEST(Entrants, PartWithWhoWasNotRenewed) {
    Entrants entrants;
    entrants.add(entrant(1));
    entrants.add(entrant(2));
    EXPECT_TRUE(entrants.take_lapsed(now + 9s).empty());
    EXPECT_TRUE(entrants.renewed(entrant(2).nonce(), 1, now + 20s));
    ASSERT_EQ(entrants.take_lapsed(now + 10s).size(), 1U);
    EXPECT_FALSE(entrants.find(entrant(1).nonce()));
    EXPECT_FALSE(entrants.renewed(entrant(1).nonce(), 1, now + 20s)) << "too late";
    EXPECT_TRUE(entrants.take_lapsed(now + 19s).empty());
    EXPECT_EQ(entrants.take_lapsed(now + 20s).size(), 1U);
}

TEST(Entrants, AreNotShortenedByAnEarlierRenewalThatIsAnsweredLate) {
    Entrants entrants;
    entrants.add(entrant(1));
    entrants.begin_renewal(entrant(1).nonce(), 6);
    EXPECT_TRUE(entrants.renewed(entrant(1).nonce(), 6, now + 20s));
    EXPECT_TRUE(entrants.renewed(entrant(1).nonce(), 5, now + 5s)) << "it is there all the same";
    EXPECT_EQ(entrants.find(entrant(1).nonce())->lease_end, now + 20s);
    EXPECT_TRUE(entrants.renewed(entrant(1).nonce(), 7, now + 5s));
    EXPECT_EQ(entrants.find(entrant(1).nonce())->lease_end, now + 5s);
}

TEST(Entrants, AreKeptByAnAnswerAlsoWhenALaterRenewalHasBegun) {
    Entrants entrants;
    entrants.add(entrant(1));
    entrants.begin_renewal(entrant(1).nonce(), 5);
    entrants.begin_renewal(entrant(1).nonce(), 6);
    EXPECT_TRUE(entrants.renewed(entrant(1).nonce(), 5, now + 20s));
    EXPECT_TRUE(entrants.take_lapsed(now + 15s).empty()) << "its holder trusts that answer";
}

TEST(Entrants, PartWithThoseOfASessionThatIsOver) {
    Entrants entrants;
    entrants.add(entrant(1, 7));
    entrants.add(entrant(2, 8));
    EXPECT_EQ(entrants.take_of_session(7).size(), 1U);
    EXPECT_TRUE(entrants.take_of_session(7).empty());
    EXPECT_TRUE(entrants.find(entrant(2).nonce()));
}

TEST(AnIncarnation, IsReadAsItWasWritten) {
    const Incarnation place{-42, 7'000'000'000, "/a b/_c_x-lock-0000000001"};
    const auto read = incarnation_in(text_of(place));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->session, place.session);
    EXPECT_EQ(read->made_by, place.made_by);
    EXPECT_EQ(read->node, place.node);
    for (const char* text : {"", "x", "1", "1 2", "1 x /a"})
        EXPECT_FALSE(incarnation_in(text)) << text;
}

TEST(Entrants, WithALongerLeaseGoWithNoSession) {
    Entrants entrants;
    for (unsigned char number = 1; number <= 3; ++number) {
        Entrant one = entrant(number, number == 3 ? 2 : 1);
        one.contender.lease = number == 1 ? 4s : 9s;
        entrants.add(one);
    }
    ASSERT_TRUE(entrants.admit(entrant(2)));
    EXPECT_TRUE(entrants.take_longer(1, 4s).empty()) << "what a holder has is not deleted";
    EXPECT_EQ(entrants.find(entrant(1).nonce())->session, 1);
    EXPECT_EQ(entrants.find(entrant(2).nonce())->session, 0);
    EXPECT_EQ(entrants.find(entrant(3).nonce())->session, 2);
}

TEST(Entrants, WhoseSessionWasShortenedWhileTheyWaitedAreNotAdmitted) {
    Entrants entrants;
    Entrant one = entrant(1);
    one.contender.lease = 9s;
    one.watched = {"/orders/n0"};
    entrants.add(one);
    const auto taken = entrants.take_longer(1, 4s);
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken.front().session, 1) << "its node is to be deleted in the session it is of";
    EXPECT_FALSE(entrants.admit(one)) << "the answer that told its turn was read before";
    EXPECT_FALSE(entrants.is_awaited("/orders/n0"));
}

TEST(Entrants, AreNotAdmittedForWhatWasSeenOfAnEarlierPlace) {
    Entrants entrants;
    Entrant earlier = entrant(1);
    earlier.fence = 10;
    entrants.add(earlier);
    entrants.remove(earlier.nonce());
    Entrant later = entrant(1);
    later.fence = 20;
    entrants.add(later);
    EXPECT_FALSE(entrants.admit(earlier));
    EXPECT_FALSE(entrants.find(later.nonce())->admitted);
    EXPECT_TRUE(entrants.admit(later));
}

}  // namespace
}  // namespace holdfast::listed
