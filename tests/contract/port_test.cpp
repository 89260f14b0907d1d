#include <random>

#include "contract/stores.hpp"

/// The verbs of the port, as every store must answer them.
namespace holdfast::test {
namespace {

using State = Standing::State;

/// What a watch was told. Lives in a shared pointer, for callbacks outlive a failed test.
struct Heard {
    std::atomic<int> times{0};
    std::atomic<bool> offered{false};
};

class Port : public Contract {
protected:
    Contender contender(std::string name = "orders") {
        return {
            .resource = std::move(name), .nonce = next_nonce(), .owner = "somebody", .lease = 30s};
    }
    Contender impatient(std::string name = "orders") {
        Contender one = contender(std::move(name));
        one.patience = Patience::none;
        return one;
    }

    Entry enter(const Contender& one) {
        auto entries = store_->enter({&one, 1}).get();
        if (!entries.ok()) {
            ADD_FAILURE() << entries.failure().sentence;
            return {};
        }
        EXPECT_EQ(entries.value().size(), 1U);
        return entries.value().front();
    }
    State state_of_entering(const Contender& one) { return enter(one).standing.state; }
    Failure refusal(const Contender& one) {
        auto entries = store_->enter({&one, 1}).get();
        if (!entries.ok()) return entries.failure();
        ADD_FAILURE() << "it was let in";
        return {};
    }
    Standing renew(const Ticket& ticket, std::chrono::milliseconds lease = 30s) {
        auto standings = store_->renew({&ticket, 1}, lease).get();
        EXPECT_TRUE(standings.ok());
        return standings.value().front();
    }
    Standing leave(const Ticket& ticket) {
        auto standing = store_->leave(ticket).get();
        EXPECT_TRUE(standing.ok());
        return standing.value();
    }
    Standing standing(const Ticket& ticket) {
        auto answer = store_->standing(ticket).get();
        EXPECT_TRUE(answer.ok());
        return answer.value();
    }
    std::vector<Line> lines(const std::string& prefix = "") {
        auto answer = store_->inspect(prefix).get();
        EXPECT_TRUE(answer.ok());
        return answer.value();
    }

    /// Where whoever is next stands when the holder has left.
    static State its_turn() { return GetParam().offers ? State::offered : State::admitted; }
    /// Whether the watch of a ticket has told that its turn has come.
    bool told_its_turn(const Heard& heard, const Ticket& ticket) {
        if (GetParam().offers) return heard.offered;
        return heard.times > 0 && standing(ticket).state == State::admitted;
    }

    std::shared_ptr<Store> store_ = port();

private:
    Nonce next_nonce() {
        Nonce nonce;
        for (auto& byte : nonce.bytes) byte = static_cast<std::byte>(random_());
        return nonce;
    }
    std::mt19937_64 random_{std::random_device{}()};
};
HOLDFAST_FOR_EVERY_STORE(Port);

LineMoved hearing(const std::shared_ptr<Heard>& heard) {
    return [heard](const Standing& standing) {
        if (standing.state == State::offered) heard->offered = true;
        ++heard->times;
    };
}

TEST_P(Port, ARenewalTellsTheClockOfAServerThatCountsLeasesByIt) {
    const bool tells = GetParam().name.starts_with("redis") || GetParam().name == "postgres";
    const Ticket ticket = enter(contender()).ticket;
    const auto held = renew(ticket).server_clock;
    leave(ticket);
    const auto gone = renew(ticket).server_clock;
    ASSERT_EQ(held.has_value(), tells);
    ASSERT_EQ(gone.has_value(), tells) << "that is how a jump ends most";
    if (!tells) return;
    EXPECT_LE(*held, *gone);
    const auto here = std::chrono::system_clock::now().time_since_epoch();
    EXPECT_LT(std::chrono::abs(here - *gone), 1min) << "it runs on this machine";
}

TEST_P(Port, TheFirstIsAdmittedAndTheSecondWaits) {
    const auto first = enter(contender());
    EXPECT_EQ(first.standing.state, State::admitted);
    EXPECT_GT(first.standing.fence, 0U);
    EXPECT_EQ(state_of_entering(contender()), State::waiting);
}

TEST_P(Port, ARepeatedEnterIsOneContender) {
    const auto holder = contender();
    const auto first = enter(holder);
    const auto again = enter(holder);
    EXPECT_EQ(again.standing.state, State::admitted);
    EXPECT_EQ(again.standing.fence, first.standing.fence);
    EXPECT_EQ(again.ticket.place, first.ticket.place);
    const auto waiter = contender();
    const auto waiting = enter(waiter);
    EXPECT_EQ(enter(waiter).ticket.place, waiting.ticket.place);
    ASSERT_EQ(lines().size(), 1U);
    EXPECT_EQ(lines()[0].holders.size(), 1U);
    EXPECT_EQ(lines()[0].waiters.size(), 1U);
}

TEST_P(Port, ARepeatedEnterKeepsItsPlaceInTheOrder) {
    const auto holder = enter(contender());
    const auto second = contender();
    const auto third = contender();
    enter(second);
    const auto last = enter(third);
    const auto repeated = enter(second);
    leave(holder.ticket);
    EXPECT_EQ(standing(repeated.ticket).state, its_turn());
    EXPECT_EQ(standing(last.ticket).state, State::waiting);
}

TEST_P(Port, AnImpatientContenderLeavesNoTicket) {
    enter(contender());
    EXPECT_EQ(state_of_entering(impatient()), State::gone);
    EXPECT_TRUE(lines()[0].waiters.empty());
}

TEST_P(Port, ARepeatedLeaveDoesNotTouchTheSuccessor) {
    const auto first = enter(contender());
    EXPECT_EQ(leave(first.ticket).state, State::admitted);
    const auto second = enter(contender());
    EXPECT_EQ(leave(first.ticket).state, State::gone);
    EXPECT_EQ(standing(second.ticket).state, State::admitted);
}

TEST_P(Port, RenewingNeverReCreates) {
    const auto first = enter(contender());
    leave(first.ticket);
    EXPECT_EQ(renew(first.ticket).state, State::gone);
    EXPECT_TRUE(lines().empty());
    // And not after somebody else came and went (a renewal by upsert would succeed).
    const auto second = enter(contender());
    EXPECT_EQ(renew(first.ticket).state, State::gone);
    leave(second.ticket);
    EXPECT_EQ(renew(first.ticket).state, State::gone);
    EXPECT_TRUE(lines().empty());
}

TEST_P(Port, ARepeatedRenewalKeepsTheFence) {
    const auto holder = enter(contender());
    EXPECT_EQ(renew(holder.ticket).fence, holder.standing.fence);
    EXPECT_EQ(renew(holder.ticket).fence, holder.standing.fence);
}

TEST_P(Port, AnExpiredContenderIsGoneForRenewAndLeave) {
    auto brief = contender();
    brief.lease = 100ms;
    const auto first = enter(brief);
    const auto rival = contender();
    ASSERT_TRUE(await([&] {
        return state_of_entering(rival) == State::admitted ||
               renew(enter(rival).ticket).state == State::admitted;
    }));
    EXPECT_EQ(renew(first.ticket).state, State::gone);
    EXPECT_EQ(leave(first.ticket).state, State::gone);
    EXPECT_EQ(lines()[0].holders.size(), 1U);
}

TEST_P(Port, AWaiterWhoseLeaseEndsIsNeverAdmitted) {
    const auto holder = enter(contender());
    auto brief = contender();
    brief.lease = 100ms;
    const auto waiter = enter(brief);
    const auto last = enter(contender());
    ASSERT_TRUE(await([&] { return standing(waiter.ticket).state == State::gone; }));
    leave(holder.ticket);
    EXPECT_EQ(renew(waiter.ticket).state, State::gone);
    // A client that knows of the end before its server does takes it out beside all else.
    EXPECT_TRUE(await([&] { return renew(last.ticket).state == State::admitted; }));
}

TEST_P(Port, ADelayedEnterIsRefusedAfterTheLeaveThatLookedForIt) {
    const auto late = contender();
    EXPECT_EQ(leave({late.resource, late.nonce, {}}).state, State::gone);
    EXPECT_EQ(refusal(late).effect, Effect::none);
    EXPECT_TRUE(lines().empty());
    EXPECT_EQ(state_of_entering(contender()), State::admitted);
}

TEST_P(Port, AnUnansweredEnterIsFoundAndTakenOutByItsNonce) {
    const auto holder = contender();
    enter(holder);
    const auto waiter = contender();
    enter(waiter);
    EXPECT_EQ(leave({waiter.resource, waiter.nonce, {}}).state, State::waiting);
    EXPECT_EQ(leave({holder.resource, holder.nonce, {}}).state, State::admitted);
    EXPECT_TRUE(lines().empty());
    refusal(holder);
    refusal(waiter);
}

TEST_P(Port, AReleasedPlaceIsOfferedAndClaimedByRenew) {
    const auto holder = enter(contender());
    const auto waiter = enter(contender());
    leave(holder.ticket);
    EXPECT_EQ(standing(waiter.ticket).state, its_turn());
    EXPECT_EQ(state_of_entering(impatient()), State::gone) << "an offered place is not free";
    const auto claimed = renew(waiter.ticket);
    EXPECT_EQ(claimed.state, State::admitted);
    EXPECT_GT(claimed.fence, holder.standing.fence);
    EXPECT_EQ(renew(waiter.ticket).fence, claimed.fence) << "claiming twice is claiming once";
}

TEST_P(Port, ALapsedOfferPassesOnAndThePassedOverKeepsItsTicket) {
    if (!GetParam().offers) GTEST_SKIP() << GetParam().name << " offers nothing";
    const auto holder = enter(contender());
    const auto silent = enter(contender());
    const auto next = enter(contender());
    leave(holder.ticket);
    ASSERT_EQ(standing(silent.ticket).state, State::offered);
    ASSERT_TRUE(await([&] { return standing(next.ticket).state == State::offered; }));
    const auto claimed = renew(next.ticket);
    EXPECT_EQ(claimed.state, State::admitted);
    // Heard of again, it is first in line once more, before a newcomer.
    EXPECT_EQ(renew(silent.ticket).state, State::waiting);
    const auto newcomer = enter(contender());
    leave(next.ticket);
    const auto at_last = renew(silent.ticket);
    EXPECT_EQ(at_last.state, State::admitted);
    EXPECT_GT(at_last.fence, claimed.fence);
    EXPECT_EQ(standing(newcomer.ticket).state, State::waiting);
}

TEST_P(Port, WhoIsOfferedAPlaceMayLeaveInsteadAndPassesItOn) {
    const auto holder = enter(contender());
    const auto second = enter(contender());
    const auto third = enter(contender());
    leave(holder.ticket);
    EXPECT_EQ(leave(second.ticket).state, its_turn());
    EXPECT_EQ(renew(third.ticket).state, State::admitted);
}

TEST_P(Port, AWaiterThatLeavesFromTheMiddleAdmitsNobody) {
    enter(contender());
    const auto second = enter(contender());
    const auto third = enter(contender());
    EXPECT_EQ(leave(second.ticket).state, State::waiting);
    EXPECT_EQ(standing(third.ticket).state, State::waiting);
    EXPECT_EQ(renew(third.ticket).state, State::waiting);
}

TEST_P(Port, TheStandByIsToldWhenToLookAgainAndNobodyBehindItLooksEarlier) {
    if (!GetParam().offers) GTEST_SKIP() << GetParam().name << " tells also when a lease ends";
    enter(contender());
    const auto stand_by = enter(contender());
    const auto last = enter(contender());
    ASSERT_TRUE(stand_by.standing.look_again);
    EXPECT_GT(*stand_by.standing.look_again, 20s);
    EXPECT_LE(*stand_by.standing.look_again, 30s);
    EXPECT_TRUE(standing(stand_by.ticket).look_again);
    constexpr std::chrono::nanoseconds never = 24h;
    const auto first_look = standing(stand_by.ticket).look_again.value_or(never);
    EXPECT_GT(last.standing.look_again.value_or(never), first_look);
    EXPECT_GT(standing(last.ticket).look_again.value_or(never), first_look);
}

TEST_P(Port, AWatchIsToldWhenItsTurnComes) {
    const auto holder = enter(contender());
    const auto waiter = enter(contender());
    const auto heard = std::make_shared<Heard>();
    const auto interest = store_->wire().interest();
    const auto watch = store_->watch(waiter.ticket, hearing(heard));
    leave(holder.ticket);
    ASSERT_TRUE(await([&] { return told_its_turn(*heard, waiter.ticket); }));
    EXPECT_EQ(renew(waiter.ticket).state, State::admitted);
}

TEST_P(Port, AWatchIsToldWhatHappenedBeforeIt) {
    const auto holder = enter(contender());
    const auto waiter = enter(contender());
    leave(holder.ticket);
    const auto heard = std::make_shared<Heard>();
    const auto interest = store_->wire().interest();
    const auto watch = store_->watch(waiter.ticket, hearing(heard));
    EXPECT_TRUE(await([&] { return told_its_turn(*heard, waiter.ticket); }));
}

TEST_P(Port, AWatchIsToldByAnotherHandleOfTheStore) {
    const auto other = port();
    const auto one = contender();
    const auto entries = other->enter({&one, 1}).get();
    ASSERT_TRUE(entries.ok());
    const auto waiter = enter(contender());
    const auto heard = std::make_shared<Heard>();
    const auto interest = store_->wire().interest();
    const auto watch = store_->watch(waiter.ticket, hearing(heard));
    ASSERT_TRUE(other->leave(entries.value()[0].ticket).get().ok());
    EXPECT_TRUE(await([&] { return told_its_turn(*heard, waiter.ticket); }));
}

TEST_P(Port, NoCallbackComesAfterTheWatchIsGone) {
    for (int round = 0; round < 50; ++round) {
        const auto holder = enter(contender());
        const auto waiter = enter(contender());
        std::atomic<bool> watching{true};
        std::atomic<bool> late{false};
        {
            const auto interest = store_->wire().interest();
            auto watch = store_->watch(waiter.ticket, [&](const Standing&) {
                if (!watching) late = true;
            });
            Thread leaver([&] { leave(holder.ticket); });
            if (round % 2 == 0) leaver.join();
            watch.reset();
            watching = false;
        }
        EXPECT_FALSE(late);
        leave(waiter.ticket);
    }
}

TEST_P(Port, NoEventIsLostBetweenStandingAndWatch) {
    const auto interest = store_->wire().interest();
    for (int round = 0; round < 100; ++round) {
        const auto holder = enter(contender());
        const auto waiter = enter(contender());
        Thread leaver([&] { leave(holder.ticket); });
        const auto heard = std::make_shared<Heard>();
        const auto watch = store_->watch(waiter.ticket, hearing(heard));
        ASSERT_TRUE(await([&] { return told_its_turn(*heard, waiter.ticket); })) << round;
        leave(waiter.ticket);
    }
}

TEST_P(Port, SeveralAreAllAdmittedOrStandInTheFirstLineThatRefuses) {
    if (!can().enter_together) GTEST_SKIP() << GetParam().name << " takes one at a time";
    const auto in_the_way = enter(contender("b"));
    const std::vector several{contender("a"), contender("b"), contender("c")};
    const auto entries = store_->enter(several).get();
    ASSERT_TRUE(entries.ok());
    ASSERT_EQ(entries.value().size(), 2U);
    EXPECT_EQ(entries.value()[0].standing.state, State::admitted);
    EXPECT_EQ(entries.value()[1].standing.state, State::waiting);
    EXPECT_EQ(state_of_entering(impatient("c")), State::admitted) << "it has no ticket beyond";
}

TEST_P(Port, SeveralImpatientOnesLeaveNothingWhenOneIsBusy) {
    if (!can().enter_together) GTEST_SKIP() << GetParam().name << " takes one at a time";
    enter(contender("b"));
    const std::vector several{impatient("a"), impatient("b"), impatient("c")};
    const auto entries = store_->enter(several).get();
    ASSERT_TRUE(entries.ok());
    EXPECT_EQ(entries.value().back().standing.state, State::gone);
    ASSERT_EQ(lines().size(), 1U);
    EXPECT_EQ(lines()[0].resource, "b");
}

TEST_P(Port, SeveralLeaveNothingWhenOneIsRefused) {
    if (!can().enter_together) GTEST_SKIP() << GetParam().name << " takes one at a time";
    auto permits = contender("b");
    permits.capacity = 3;
    permits.weight = 1;
    enter(permits);
    const std::vector several{contender("a"), contender("b")};
    const auto entries = store_->enter(several).get();
    ASSERT_FALSE(entries.ok());
    EXPECT_EQ(entries.failure().code, errc::conflict);
    EXPECT_EQ(lines().size(), 1U);
}

TEST_P(Port, AnotherCapacityIsRefusedToTheLaterOne) {
    auto three = contender();
    three.capacity = 3;
    three.weight = 1;
    const auto first = enter(three);
    auto four = three;
    four.nonce = contender().nonce;
    four.capacity = 4;
    EXPECT_EQ(refusal(four).code, errc::conflict);
    EXPECT_EQ(refusal(contender()).code, errc::conflict);
    EXPECT_EQ(standing(first.ticket).state, State::admitted);
    leave(first.ticket);
    EXPECT_EQ(state_of_entering(four), State::admitted) << "only while somebody is there";
}

TEST_P(Port, AnotherFairnessIsRefusedToTheLaterOne) {
    if (!store_->capabilities().barging || !store_->capabilities().fifo) {
        GTEST_SKIP() << GetParam().name << " knows one fairness only: there is no other to refuse";
    }
    enter(contender());
    auto barging = contender();
    barging.fairness = holdfast::Fairness::barging;
    EXPECT_EQ(refusal(barging).code, errc::conflict);
}

TEST_P(Port, FencesStrictlyRise) {
    std::uint64_t last = 0;
    for (int i = 0; i < 200; ++i) {
        const auto one = enter(contender());
        EXPECT_GT(one.standing.fence, last);
        EXPECT_LT(one.standing.fence, fence_limit);
        last = one.standing.fence;
        leave(one.ticket);
    }
}

TEST_P(Port, FencesRiseAmongHoldersOfOneResource) {
    auto shared = contender();
    shared.weight = 1;
    const auto first = enter(shared);
    shared.nonce = contender().nonce;
    EXPECT_GT(enter(shared).standing.fence, first.standing.fence);
}

TEST_P(Port, AFenceRisesWhenTheStoreIsOpenedAgain) {
    const auto before = enter(contender());
    leave(before.ticket);
    store_.reset();
    store_ = port();
    EXPECT_GT(enter(contender()).standing.fence, before.standing.fence);
}

TEST_P(Port, InspectShowsWhoHoldsAndWhoWaitsInOrder) {
    auto alice = contender("jobs/nightly");
    alice.owner = "alice";
    auto bob = contender("jobs/nightly");
    bob.owner = "bob";
    auto carol = contender("jobs/nightly");
    carol.owner = "carol";
    const auto held = enter(alice);
    enter(bob);
    enter(carol);
    enter(contender("jobs/hourly"));
    enter(contender("other"));
    const auto found = lines("jobs/");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].resource, "jobs/hourly");
    const Line& nightly = found[1];
    EXPECT_EQ(nightly.capacity, all);
    ASSERT_EQ(nightly.holders.size(), 1U);
    EXPECT_EQ(nightly.holders[0].owner, "alice");
    EXPECT_EQ(nightly.holders[0].fence, held.standing.fence);
    EXPECT_EQ(nightly.holders[0].weight, all);
    EXPECT_GT(nightly.holders[0].lease_left, 20s);
    EXPECT_LE(nightly.holders[0].lease_left, 30s);
    ASSERT_EQ(nightly.waiters.size(), 2U);
    EXPECT_EQ(nightly.waiters[0].owner, "bob");
    EXPECT_EQ(nightly.waiters[1].owner, "carol");
    EXPECT_EQ(nightly.waiters[0].fence, 0U);
}

TEST_P(Port, LookingAtOneShowsItsLineAsInspectDoes) {
    enter(contender("jobs"));
    enter(contender("jobs"));
    enter(contender("jobs/nightly"));
    const auto found = store_->look_at("jobs").get();
    ASSERT_TRUE(found.ok());
    ASSERT_FALSE(found.value().empty());
    const Line& line = found.value().front();
    EXPECT_EQ(line.resource, "jobs");
    EXPECT_EQ(line.holders.size(), 1U);
    EXPECT_EQ(line.waiters.size(), 1U);
    EXPECT_TRUE(store_->look_at("other").get().value().empty());
}

TEST_P(Port, InspectShowsWhereEachComesFrom) {
    auto near = contender();
    near.host = "near";
    near.pid = 7;
    auto far = contender();
    far.host = "far.example";
    far.pid = 123456;
    enter(near);
    enter(far);
    const Place holder = lines()[0].holders[0];
    const Place waiter = lines()[0].waiters[0];
    EXPECT_EQ(holder.host, "near");
    EXPECT_EQ(holder.pid, 7);
    EXPECT_EQ(waiter.host, "far.example");
    EXPECT_EQ(waiter.pid, 123456);
}

TEST_P(Port, AWaitersAgeCountsFromItsEnteringAndAHoldersFromItsAdmission) {
    const auto holder = enter(contender());
    const auto waiter = enter(contender());
    if (!lines()[0].waiters[0].age) GTEST_SKIP() << GetParam().name << " does not know ages";
    ASSERT_TRUE(await([&] { return lines()[0].waiters[0].age > 50ms; }));
    leave(holder.ticket);
    const auto claiming = Clock::now();
    ASSERT_EQ(renew(waiter.ticket).state, State::admitted);
    const auto age = lines()[0].holders[0].age;
    const auto since_claiming = Clock::now() - claiming;
    // A server may count in whole milliseconds, and may not know when it admitted.
    EXPECT_LE(age.value_or(0ms), since_claiming + 1ms);
}

TEST_P(Port, AListedTicketIsEnoughToEndTheContender) {
    const auto held = enter(contender());
    const auto waiter = enter(contender());
    EXPECT_EQ(leave(lines()[0].holders[0].ticket).state, State::admitted);
    EXPECT_EQ(renew(held.ticket).state, State::gone);
    EXPECT_EQ(renew(waiter.ticket).state, State::admitted);
}

TEST_P(Port, GetInsideACallbackIsRefused) {
    const auto one = contender();
    std::atomic<bool> refused{false};
    store_->enter({&one, 1}).then([&](const auto& result) {
        ASSERT_TRUE(result.ok());
        try {
            static_cast<void>(store_->leave(result.value()[0].ticket).get());
        } catch (const std::logic_error&) {
            refused = true;
        }
    });
    EXPECT_TRUE(await([&] { return refused.load(); }));
}

}  // namespace
}  // namespace holdfast::test
