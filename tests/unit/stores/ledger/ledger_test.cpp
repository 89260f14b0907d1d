#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/stores/ledger/map_table.hpp"

namespace holdfast::ledger {
namespace {

using namespace std::chrono_literals;
using State = Standing::State;

/// What every store does is in the contract; here is what a clock that stands still shows, and what
/// a ledger leaves in its table.
class ALedger : public testing::Test {
protected:
    static Contender brief(std::uint64_t number, std::chrono::milliseconds lease = 1s) {
        auto made = contender("a", number);
        made.lease = lease;
        return made;
    }
    /// Who joins the hold of contender 1.
    static Contender joining(std::uint64_t number) {
        auto made = contender("a", number);
        made.owner = contender("a", 1).owner;
        made.reenter = true;
        return made;
    }
    static Contender barging(std::string resource, std::uint64_t number, std::uint64_t weight = all,
                             std::uint64_t capacity = all) {
        auto made = contender(std::move(resource), number, weight, capacity);
        made.fairness = Fairness::barging;
        return made;
    }
    static Contender impatient(std::string resource, std::uint64_t number) {
        auto made = contender(std::move(resource), number);
        made.patience = Patience::none;
        return made;
    }
    Book book;
};

TEST_F(ALedger, AdmitsTheFirstWithAFenceFromTheWallClock) {
    const Entry first = book.enter(contender("a", 1));
    EXPECT_EQ(first.standing.state, State::admitted);
    EXPECT_EQ(first.standing.fence, book.wall_microseconds);
}

TEST_F(ALedger, GivesRisingFencesAlsoWhenTheWallClockIsSetBackOrStands) {
    const Entry first = book.enter(contender("a", 1));
    book.leave(first.ticket);
    book.wall_microseconds -= 1'000'000;
    const Entry second = book.enter(contender("a", 2));
    EXPECT_EQ(second.standing.fence, first.standing.fence + 1);
}

TEST_F(ALedger, RefusesAPlantedLastFenceAndSaysWhatToDo) {
    book.last_fence = fence_limit - 1;
    try {
        static_cast<void>(book.enter(std::vector{contender("a", 1)}));
        FAIL() << "it was taken";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::corrupt);
        EXPECT_NE(std::string(error.what()).find("9007199254740991"), std::string::npos);
    }
}

TEST_F(ALedger, GivesTheLastFenceBelowTheLimit) {
    book.last_fence = fence_limit - 2;
    EXPECT_EQ(book.enter(contender("a", 1)).standing.fence, fence_limit - 1);
}

TEST_F(ALedger, LeavesNoRowBehindWhenAllHaveLeft) {
    const Entry first = book.enter(contender("a", 1));
    const Entry second = book.enter(contender("a", 2));
    book.leave(second.ticket);
    book.leave(first.ticket);
    EXPECT_TRUE(book.table.rows.empty());
}

TEST_F(ALedger, LeavesNoTicketOfABusyOneThatDoesNotWait) {
    const Entry first = book.enter(contender("a", 1));
    EXPECT_EQ(book.enter(impatient("a", 2)).standing.state, State::gone);
    book.leave(first.ticket);
    EXPECT_TRUE(book.table.rows.empty());
}

TEST_F(ALedger, DoesNotShortenALeaseByALateCopyOfAnEarlierRenewal) {
    const Entry first = book.enter(contender("a", 1));
    const Extension earlier(10s, book.now);
    book.now += 1s;
    book.renew(first.ticket, 100s);
    const Standing late = book.renew_with(first.ticket, earlier);
    EXPECT_EQ(late.state, State::admitted);
    EXPECT_EQ(late.fence, first.standing.fence);
    EXPECT_EQ(book.inspect().front().holders.front().lease_left, 100s);
}

TEST_F(ALedger, ShortensALeaseByALaterRenewal) {
    const Entry first = book.enter(contender("a", 1));
    book.renew(first.ticket, 100s);
    book.now += 1s;
    book.renew(first.ticket, 10s);
    EXPECT_EQ(book.inspect().front().holders.front().lease_left, 10s);
}

TEST_F(ALedger, AdmitsNobodyByALateCopyOfAnEarlierRenewal) {
    const Entry first = book.enter(contender("a", 1));
    const Entry second = book.enter(contender("a", 2));
    const Extension earlier(30s, book.now);
    book.now += 1s;
    book.renew(second.ticket);
    book.leave(first.ticket);
    EXPECT_EQ(book.renew_with(second.ticket, earlier).state, State::offered);
    EXPECT_EQ(book.renew(second.ticket).state, State::admitted);
}

TEST_F(ALedger, DoesNotShortenALeaseByARepeatedEnter) {
    const Entry first = book.enter(contender("a", 1));
    book.renew(first.ticket, 100s);
    EXPECT_EQ(book.enter(contender("a", 1)).standing.fence, first.standing.fence);
    EXPECT_EQ(book.inspect().front().holders.front().lease_left, 100s);
}

TEST_F(ALedger, TellsTheStandByOfAnOffer) {
    const Entry first = book.enter(contender("a", 1));
    const Entry second = book.enter(contender("a", 2));
    const Entry third = book.enter(contender("a", 3));
    const Entry fourth = book.enter(contender("a", 4));
    book.leave(first.ticket);
    EXPECT_EQ(book.told_to(third.ticket), State::waiting);
    EXPECT_EQ(book.told_to(fourth.ticket), std::nullopt) << "it concerns nobody else";
    EXPECT_EQ(book.standing(third.ticket).look_again, claim_time);
}

TEST_F(ALedger, LetsTheFirstFewInLineLookAClaimTimeAfterEachOther) {
    book.enter(brief(1, 5s));
    for (int ahead = 0; ahead < 8; ++ahead) {
        const Entry entered = book.enter(contender("a", static_cast<std::uint64_t>(ahead + 2)));
        EXPECT_EQ(entered.standing.look_again, 5s + ahead * claim_time);
    }
    EXPECT_FALSE(book.enter(contender("a", 10)).standing.look_again);
}

TEST_F(ALedger, LetsOneThatThereIsRoomForLookWhenTheOneBeforeItEnds) {
    book.enter(contender("a", 1, 1));
    book.enter(brief(2, 5s));
    const Entry third = book.enter(contender("a", 3, 1));
    EXPECT_EQ(third.standing.look_again, 5s) << "the holder's lease is longer";
    EXPECT_EQ(book.enter(contender("a", 4, 1)).standing.look_again, 5s);
    book.now += 5s;
    EXPECT_EQ(book.standing(third.ticket).state, State::offered);
}

TEST_F(ALedger, PassesALapsedOfferOnAndThePassedOverOneKeepsItsTicket) {
    const Entry first = book.enter(contender("a", 1));
    const Entry slow = book.enter(contender("a", 2));
    const Entry third = book.enter(contender("a", 3));
    book.leave(first.ticket);
    book.now += claim_time;
    EXPECT_EQ(book.renew(third.ticket).state, State::admitted);
    book.leave(third.ticket);
    EXPECT_EQ(book.told_to(slow.ticket), std::nullopt)
        << "nobody relies on it until it is heard of";
    EXPECT_EQ(book.standing(slow.ticket).state, State::offered);
    EXPECT_EQ(book.renew(slow.ticket).state, State::admitted);
}

TEST_F(ALedger, CountsAPassedOverOneAgainOnceItIsHeardOf) {
    const Entry first = book.enter(contender("a", 1));
    const Entry slow = book.enter(contender("a", 2));
    const Entry third = book.enter(contender("a", 3));
    book.leave(first.ticket);
    book.now += claim_time;
    book.renew(third.ticket);
    EXPECT_EQ(book.renew(slow.ticket).state, State::waiting);
    const Entry fourth = book.enter(contender("a", 4));
    book.leave(third.ticket);
    EXPECT_EQ(book.told_to(slow.ticket), State::offered) << "it stands before the fourth";
    EXPECT_EQ(book.standing(fourth.ticket).state, State::waiting);
}

TEST_F(ALedger, CountsAPassedOverOneAgainOnceItAsks) {
    const Entry first = book.enter(contender("a", 1));
    const Entry second = book.enter(contender("a", 2));
    const Entry third = book.enter(contender("a", 3));
    book.leave(first.ticket);
    book.now += claim_time;
    EXPECT_EQ(book.renew(third.ticket).state, State::admitted);
    EXPECT_EQ(book.standing(second.ticket).state, State::waiting);
    const Entry fourth = book.enter(contender("a", 4));
    book.leave(third.ticket);
    EXPECT_EQ(book.standing(fourth.ticket).state, State::waiting);
    EXPECT_EQ(book.renew(second.ticket).state, State::admitted);
}

TEST_F(ALedger, LetsAClaimAfterItsTimeStandWhenNobodyElseCame) {
    const Entry first = book.enter(contender("a", 1));
    const Entry second = book.enter(contender("a", 2));
    book.leave(first.ticket);
    book.now += 2 * claim_time;
    EXPECT_EQ(book.standing(second.ticket).state, State::offered);
    EXPECT_EQ(book.renew(second.ticket).state, State::admitted);
}

TEST_F(ALedger, EndsAHoldWithItsLeaseAndOffersThePlaceWhenAsked) {
    const Entry first = book.enter(brief(1));
    const Entry second = book.enter(contender("a", 2));
    EXPECT_EQ(second.standing.look_again, 1s) << "nothing is pushed when a lease merely ends";
    book.now += 1s;
    EXPECT_EQ(book.standing(second.ticket).state, State::offered);
    EXPECT_EQ(book.renew(first.ticket).state, State::gone);
    EXPECT_EQ(book.leave(first.ticket).state, State::gone);
    EXPECT_EQ(book.renew(second.ticket).state, State::admitted);
}

TEST_F(ALedger, NeverRenewsOrRecreatesWhatIsGone) {
    const Entry first = book.enter(brief(1));
    book.now += 2s;
    const Entry rival = book.enter(contender("a", 2));
    EXPECT_EQ(rival.standing.state, State::admitted);
    book.leave(rival.ticket);
    EXPECT_EQ(book.renew(first.ticket).state, State::gone);
    EXPECT_TRUE(book.table.rows.empty());
}

TEST_F(ALedger, MovesTheEarliestEndWithRenewals) {
    const Entry first = book.enter(brief(1));
    const Entry second = book.enter(contender("a", 2));
    book.now += 900ms;
    EXPECT_EQ(book.renew(first.ticket, 1s).state, State::admitted);
    book.now += 200ms;
    EXPECT_EQ(book.standing(second.ticket).state, State::waiting);
    EXPECT_EQ(book.standing(second.ticket).look_again, 800ms);
    book.now += 800ms;
    EXPECT_EQ(book.standing(second.ticket).state, State::offered);
}

TEST_F(ALedger, PassesOverADeadWaiterAndTakesItOut) {
    const Entry first = book.enter(contender("a", 1));
    const Entry second = book.enter(brief(2));
    const Entry third = book.enter(contender("a", 3));
    book.now += 2s;
    book.leave(first.ticket);
    EXPECT_EQ(book.told_to(third.ticket), State::offered);
    EXPECT_EQ(book.standing(second.ticket).state, State::gone);
    book.leave(third.ticket);
    EXPECT_TRUE(book.table.rows.empty());
}

TEST_F(ALedger, OffersSeveralPlacesUpToTheFirstThatDoesNotFit) {
    const Entry first = book.enter(contender("a", 1, 4, 4));
    const Entry two = book.enter(contender("a", 2, 2, 4));
    const Entry three = book.enter(contender("a", 3, 3, 4));
    const Entry one = book.enter(contender("a", 4, 1, 4));
    book.leave(first.ticket);
    EXPECT_EQ(book.told_to(two.ticket), State::offered);
    EXPECT_EQ(book.told_to(three.ticket), State::waiting);
    EXPECT_EQ(book.told_to(one.ticket), std::nullopt) << "it stands behind";
}

TEST_F(ALedger, ClearsTheLineForThoseBehindAHeavyWaiterThatLeaves) {
    const Entry holder = book.enter(contender("a", 1, 2, 4));
    const Entry heavy = book.enter(contender("a", 2, 4, 4));
    const Entry light = book.enter(contender("a", 3, 2, 4));
    EXPECT_EQ(light.standing.state, State::waiting);
    EXPECT_EQ(book.leave(heavy.ticket).state, State::waiting);
    EXPECT_EQ(book.told_to(light.ticket), State::offered);
}

TEST_F(ALedger, LetsABargerTakeAFreeResourceBeforeThoseWhoWait) {
    const Entry first = book.enter(barging("a", 1));
    const Entry second = book.enter(barging("a", 2));
    book.leave(first.ticket);
    EXPECT_EQ(book.told_to(second.ticket), State::offered);
    const Entry third = book.enter(barging("a", 3));
    EXPECT_EQ(third.standing.state, State::admitted) << "nothing is reserved";
    EXPECT_EQ(book.renew(second.ticket).state, State::waiting);
}

TEST_F(ALedger, TellsBargersWithinItsReachOnly) {
    const Entry holder = book.enter(barging("a", 1, 10, 10));
    const Entry blocker = book.enter(barging("a", 2, 5, 10));
    std::vector<Entry> heavy;
    for (std::uint64_t i = 0; i < 70; ++i) heavy.push_back(book.enter(barging("a", 10 + i, 9, 10)));
    const Entry light = book.enter(barging("a", 100, 1, 10));
    book.leave(holder.ticket);
    EXPECT_EQ(book.told_to(blocker.ticket), State::offered);
    EXPECT_EQ(book.told_to(light.ticket), std::nullopt) << "too far back to be looked for";
    EXPECT_EQ(book.renew(light.ticket).state, State::admitted) << "its renewal finds the room";
}

TEST_F(ALedger, ClearsTombstonesAwayAfterTheirTime) {
    for (std::uint64_t i = 1; i <= 10; ++i) book.leave({"a", contender("a", i).nonce, {}});
    EXPECT_EQ(book.table.rows.size(), 20U);
    book.now += tombstone_time + 1s;
    book.leave({"a", contender("a", 11).nonce, {}});
    EXPECT_EQ(book.table.rows.size(), 2U);
    EXPECT_EQ(book.enter(contender("a", 1)).standing.state, State::admitted);
}

TEST_F(ALedger, FreesAJoinedPlaceWithTheLastInWhicheverOrderTheyLeave) {
    for (const bool first_leaves_first : {true, false}) {
        Book fresh;
        const Entry first = fresh.enter(joining(1));
        const Entry second = fresh.enter(joining(2));
        fresh.leave(first_leaves_first ? first.ticket : second.ticket);
        EXPECT_EQ(fresh.enter(impatient("a", 3)).standing.state, State::gone);
        fresh.leave(first_leaves_first ? second.ticket : first.ticket);
        EXPECT_TRUE(fresh.table.rows.empty());
    }
}

TEST_F(ALedger, HandsTheWeightToAnHeirWhenTheFirstLeaseEnds) {
    book.enter(brief(1));
    const Entry second = book.enter(joining(2));
    book.now += 2s;
    EXPECT_EQ(book.enter(impatient("a", 3)).standing.state, State::gone);
    EXPECT_EQ(book.renew(second.ticket).state, State::admitted);
    book.leave(second.ticket);
    EXPECT_EQ(book.enter(impatient("a", 4)).standing.state, State::admitted);
}

TEST_F(ALedger, CountsTheAgeOfAWaiterFromItsEnteringAndOfAHolderFromItsAdmission) {
    const Entry holder = book.enter(contender("a", 1));
    book.now += 1s;
    const Entry waiter = book.enter(contender("a", 2));
    book.now += 2s;
    book.renew(holder.ticket);
    book.renew(waiter.ticket);
    EXPECT_EQ(book.inspect()[0].holders[0].age, 3s);
    EXPECT_EQ(book.inspect()[0].waiters[0].age, 2s);
    book.leave(holder.ticket);
    EXPECT_EQ(book.inspect()[0].holders[0].age, 2s) << "offered is not admitted yet";
    book.renew(waiter.ticket);
    book.now += 4s;
    book.renew(waiter.ticket);
    EXPECT_EQ(book.inspect()[0].holders[0].age, 4s);
}

TEST_F(ALedger, CountsTheAgeOfABargerFromItsAdmission) {
    const Entry holder = book.enter(barging("a", 1));
    const Entry waiter = book.enter(barging("a", 2));
    book.now += 1s;
    book.leave(holder.ticket);
    ASSERT_EQ(book.renew(waiter.ticket).state, State::admitted);
    EXPECT_EQ(book.inspect()[0].holders[0].age, 0s);
}

TEST_F(ALedger, KeepsTheHostAndThePidOfEachThroughAllItsPhases) {
    const Entry holder = book.enter(contender("a", 1));
    const Entry waiter = book.enter(contender("a", 2));
    book.enter(joining(3));
    book.leave(holder.ticket);
    const Line line = book.inspect()[0];
    ASSERT_EQ(line.holders.size(), 1U);
    EXPECT_EQ(line.holders[0].host, "host 3") << "the heir of the place, and not who left it";
    EXPECT_EQ(line.holders[0].owner, "owner 1");
    book.leave(line.holders[0].ticket);
    ASSERT_EQ(book.renew(waiter.ticket).state, State::admitted);
    const Place promoted = book.inspect()[0].holders[0];
    EXPECT_EQ(promoted.host, "host 2");
    EXPECT_EQ(promoted.pid, 2);
    EXPECT_EQ(promoted.owner, "owner 2");
}

TEST_F(ALedger, CutsAHostThatIsLongerThanAnyAndLeavesTheOwnerWhole) {
    auto far = contender("a", 1);
    far.host = std::string(300, 'h');
    book.enter(far);
    const Place place = book.inspect()[0].holders[0];
    EXPECT_EQ(place.host, std::string(255, 'h'));
    EXPECT_EQ(place.owner, far.owner);
}

TEST_F(ALedger, KnowsWhoseDeathConcernsWhichWaiter) {
    book.enter(contender("a", 1, 1, 2), 11);
    book.enter(contender("a", 2, 1, 2), 12);
    const Entry first = book.enter(contender("a", 3, 2, 2), 13);
    const Entry second = book.enter(contender("a", 4, 2, 2), 14);
    const Entry third = book.enter(contender("a", 5, 2, 2), 15);
    EXPECT_EQ(book.ahead_of(first.ticket, 13), (std::vector<ClientId>{11, 12}));
    EXPECT_EQ(book.ahead_of(second.ticket, 14), std::vector<ClientId>{13});
    book.leave(second.ticket, 14);
    EXPECT_EQ(book.told_to(third.ticket), State::waiting) << "it must watch another one now";
    EXPECT_EQ(book.ahead_of(third.ticket, 15), std::vector<ClientId>{13});
    book.leave(first.ticket, 13);
    EXPECT_EQ(book.ahead_of(third.ticket, 15), (std::vector<ClientId>{11, 12}));
}

TEST_F(ALedger, LetsANewcomerBehindAPassedOverOneWatchTheHolders) {
    const Entry first = book.enter(contender("a", 1), 11);
    book.enter(contender("a", 2), 12);
    book.leave(first.ticket, 11);
    book.now += claim_time;
    EXPECT_EQ(book.enter(contender("a", 3), 13).standing.state, State::admitted);
    const Entry newcomer = book.enter(contender("a", 4), 14);
    EXPECT_EQ(book.ahead_of(newcomer.ticket, 14), std::vector<ClientId>{13});
}

TEST_F(ALedger, LetsWhoStoodBehindABargerThatGotInWatchTheOneBeforeIt) {
    book.enter(barging("a", 1, 2, 3), 11);
    book.enter(barging("a", 2, 2, 3), 12);
    const Entry full = book.enter(barging("a", 3, 1, 3), 10);
    const Entry light = book.enter(barging("a", 4, 1, 3), 13);
    const Entry last = book.enter(barging("a", 5, 3, 3), 14);
    EXPECT_EQ(book.ahead_of(last.ticket, 14), std::vector<ClientId>{13});
    book.leave(full.ticket, 10);
    EXPECT_EQ(book.renew(light.ticket, 30s, 13).state, State::admitted);
    const auto watched = book.ahead_of(last.ticket, 14);
    EXPECT_NE(watched, std::vector<ClientId>{13}) << "the line goes on before it";
    const Entry newcomer = book.enter(barging("a", 6, 3, 3), 15);
    EXPECT_EQ(book.ahead_of(newcomer.ticket, 15), std::vector<ClientId>{14});
    book.leave(last.ticket, 14);
    EXPECT_NE(book.ahead_of(newcomer.ticket, 15), std::vector<ClientId>{14});
}

TEST_F(ALedger, BuriesADeadClientWhereverItStands) {
    book.enter(contender("a", 1), 11);
    const Entry alive = book.enter(contender("a", 2), 12);
    book.enter(contender("a", 3), 11);
    book.enter(contender("b", 4), 11);
    book.bury(11);
    EXPECT_EQ(book.told_to(alive.ticket), State::offered);
    const auto lines = book.inspect();
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines.front().holders.size(), 1U);
    EXPECT_TRUE(lines.front().waiters.empty());
}

TEST_F(ALedger, ListsLinesSortedAndByPrefixWithoutThoseThatAreOver) {
    book.enter(contender("orders/2", 1));
    book.enter(contender("orders/1", 2));
    book.enter(contender("orders/1", 3));
    book.enter(contender("other", 4));
    auto over = contender("orders/3", 5);
    over.lease = 1s;
    book.enter(over);
    book.now += 1s;
    const auto lines = book.inspect("orders/");
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0].resource, "orders/1");
    EXPECT_EQ(lines[0].waiters.front().owner, "owner 3");
    EXPECT_EQ(lines[0].holders.front().lease_left, 29s);
    EXPECT_EQ(lines[1].resource, "orders/2");
}

}  // namespace
}  // namespace holdfast::ledger
