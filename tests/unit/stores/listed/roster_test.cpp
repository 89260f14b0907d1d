#include "stores/listed/roster.hpp"

#include <gtest/gtest.h>

namespace holdfast::listed {
namespace {

using namespace std::chrono_literals;

constexpr Moment now{1000s};

Member member(unsigned char number, std::int64_t session = 1) {
    Member one;
    one.contender.resource = "orders";
    one.contender.nonce = {{std::byte{number}}};
    one.path = "/orders";
    one.node = "/orders/n" + std::to_string(number);
    one.session = session;
    one.lease_end = now + 10s;
    return one;
}

TEST(ARoster, TellsWhoWaitsForANode) {
    Roster roster;
    Member second = member(2);
    second.watched = {"/orders/n1"};
    second.next = true;
    roster.add(second);
    EXPECT_TRUE(roster.stir("/orders/other", true).empty());
    EXPECT_EQ(roster.stir("/orders/n1", true), std::vector{second.nonce()});
    EXPECT_TRUE(roster.find(second.nonce())->its_turn);
    EXPECT_TRUE(roster.take_stir(second.nonce()));
    EXPECT_FALSE(roster.take_stir(second.nonce())) << "once";
}

TEST(ARoster, DoesNotTakeAChangeForAnEnd) {
    Roster roster;
    Member second = member(2);
    second.watched = {"/orders/n1"};
    second.next = true;
    roster.add(second);
    roster.stir("/orders/n1", false);
    EXPECT_FALSE(roster.find(second.nonce())->its_turn);
}

TEST(ARoster, KnowsTheLatestRenewal) {
    Roster roster;
    const Member one = member(1);
    EXPECT_FALSE(roster.begin_renewal(one.nonce(), 5)) << "of one that is not there";
    roster.add(one);
    EXPECT_TRUE(roster.begin_renewal(one.nonce(), 5));
    EXPECT_FALSE(roster.begin_renewal(one.nonce(), 4));
    EXPECT_TRUE(roster.begin_renewal(one.nonce(), 5)) << "it may be repeated";
    EXPECT_TRUE(roster.begin_renewal(one.nonce(), 6));
}

TEST(ARoster, KnowsWhatAContenderWasBoundToLast) {
    Roster roster;
    Member one = member(1);
    one.fence = 10;
    roster.add(one);
    EXPECT_EQ(roster.find(one.nonce())->last_written(), 10);
    roster.unsettle(one.nonce());
    roster.found_bound(one.nonce(), 2, 11);
    EXPECT_EQ(roster.find(one.nonce())->session, 2);
    EXPECT_TRUE(roster.find(one.nonce())->unsettled) << "that it was seen is no answer";
    roster.moved(one.nonce(), 3, 12);
    EXPECT_FALSE(roster.find(one.nonce())->unsettled);
    roster.moved(one.nonce(), 1, 11);
    EXPECT_EQ(roster.find(one.nonce())->session, 3) << "nothing older counts";
    EXPECT_EQ(roster.find(one.nonce())->last_written(), 12);
}

TEST(ARoster, ForgetsWhatIsWaitedForNoMore) {
    Roster roster;
    Member one = member(2);
    one.watched = {"/orders/n1"};
    roster.add(one);
    one.watched = {"/orders/n0"};
    roster.add(one);
    EXPECT_TRUE(roster.stir("/orders/n1", true).empty());
    roster.wait_for(one.nonce(), {"/orders/n5"}, false);
    EXPECT_TRUE(roster.stir("/orders/n0", true).empty());
    EXPECT_TRUE(roster.admit(one));
    EXPECT_TRUE(roster.stir("/orders/n5", true).empty());
    EXPECT_TRUE(roster.find(one.nonce())->admitted);
}

TEST(ARoster, PartsWithWhoWasNotRenewed) {
    Roster roster;
    roster.add(member(1));
    roster.add(member(2));
    EXPECT_TRUE(roster.take_lapsed(now + 9s).empty());
    EXPECT_TRUE(roster.renewed(member(2).nonce(), now + 20s));
    ASSERT_EQ(roster.take_lapsed(now + 10s).size(), 1U);
    EXPECT_FALSE(roster.find(member(1).nonce()));
    EXPECT_FALSE(roster.renewed(member(1).nonce(), now + 20s)) << "too late";
    EXPECT_TRUE(roster.take_lapsed(now + 19s).empty());
    EXPECT_EQ(roster.take_lapsed(now + 20s).size(), 1U);
}

TEST(ARoster, PartsWithASessionsContenders) {
    Roster roster;
    roster.add(member(1, 7));
    roster.add(member(2, 8));
    EXPECT_EQ(roster.take_of_session(7).size(), 1U);
    EXPECT_TRUE(roster.take_of_session(7).empty());
    EXPECT_TRUE(roster.find(member(2).nonce()));
}

TEST(ARoster, RemembersWhomToRefuse) {
    Roster roster;
    roster.bury(member(1).nonce(), now);
    EXPECT_TRUE(roster.is_buried(member(1).nonce()));
    roster.bury(member(2).nonce(), now + 2min);
    EXPECT_FALSE(roster.is_buried(member(1).nonce())) << "nothing is that late";
}

TEST(APlace, IsReadAsItWasWritten) {
    const PlaceText place{-42, 7'000'000'000, "/a b/_c_x-lock-0000000001"};
    const auto read = place_in(text_of(place));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->session, place.session);
    EXPECT_EQ(read->made_by, place.made_by);
    EXPECT_EQ(read->node, place.node);
    for (const char* text : {"", "x", "1", "1 2", "1 x /a"}) EXPECT_FALSE(place_in(text)) << text;
}

TEST(ARoster, LetsThoseWithALongerLeaseGoWithNoSession) {
    Roster roster;
    for (unsigned char number = 1; number <= 3; ++number) {
        Member one = member(number, number == 3 ? 2 : 1);
        one.contender.lease = number == 1 ? 4s : 9s;
        roster.add(one);
    }
    ASSERT_TRUE(roster.admit(member(2)));
    EXPECT_TRUE(roster.take_longer(1, 4s).empty()) << "what a holder has is not deleted";
    EXPECT_EQ(roster.find(member(1).nonce())->session, 1);
    EXPECT_EQ(roster.find(member(2).nonce())->session, 0);
    EXPECT_EQ(roster.find(member(3).nonce())->session, 2);
}

TEST(ARoster, AdmitsNobodyWhoseSessionWasShortenedWhileItWaited) {
    Roster roster;
    Member one = member(1);
    one.contender.lease = 9s;
    one.watched = {"/orders/n0"};
    roster.add(one);
    const auto taken = roster.take_longer(1, 4s);
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken.front().session, 1) << "its node is to be deleted in the session it is of";
    EXPECT_FALSE(roster.admit(one)) << "the answer that told its turn was read before";
    EXPECT_FALSE(roster.is_awaited("/orders/n0"));
}

TEST(ARoster, DoesNotAdmitOneForWhatWasSeenOfItsEarlierPlace) {
    Roster roster;
    Member earlier = member(1);
    earlier.fence = 10;
    roster.add(earlier);
    roster.remove(earlier.nonce());
    Member later = member(1);
    later.fence = 20;
    roster.add(later);
    EXPECT_FALSE(roster.admit(earlier));
    EXPECT_FALSE(roster.find(later.nonce())->admitted);
    EXPECT_TRUE(roster.admit(later));
}

}  // namespace
}  // namespace holdfast::listed
