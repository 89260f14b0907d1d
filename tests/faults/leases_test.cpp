#include "faults/sites.hpp"
#include "faults/wall_clock.hpp"
#include "stores/open_store.hpp"
#include "support/contender.hpp"

/// A lease that ends, that late requests would cut short, and what clocks have to do with it.
namespace holdfast::test {
namespace {

using State = Standing::State;

class Leases : public Trap {};
HOLDFAST_AT_SITES(Leases);

TEST_P(Leases, AfterTheEndOfOneTheSameClientLocksAgain) {
    const Client ours = client();
    auto mutex = ours.mutex("orders", brief());
    std::uint64_t first = 0;
    {
        const Hold hold = mutex.acquire();
        first = hold.fence();
        network().black_hole();
        ASSERT_TRUE(await([&] { return holders().empty(); }));
        network().pass();
        EXPECT_FALSE(hold.held());
    }
    const Hold again = mutex.acquire();
    EXPECT_GT(again.fence(), first);
    EXPECT_TRUE(again.held());
    EXPECT_EQ(holders(), std::vector{again.fence()});
}

TEST_P(Leases, KnowNothingOfTheTimeOfDay) {
    const WallClock clock;
    const Client ours = client();
    const LockOptions options{.lease = 2 * GetParam().brief};
    auto hold = ours.mutex("orders", options).acquire();
    std::uint64_t last = hold.fence();
    for (const auto offset : {24h, -48h, 0h}) {
        WallClock::jump_to(offset);
        EXPECT_FALSE(await([&] { return !hold.held(); }, *options.lease)) << "it is renewed";
        auto other = ours.mutex("other", options).acquire();
        EXPECT_GT(other.fence(), last);
        last = other.fence();
        EXPECT_GT(other.remaining(), *options.lease / 4);
        EXPECT_LE(other.remaining(), *options.lease);
        const int waits = counting_->waits;
        Acquiring next(ours, "other", options);
        ASSERT_TRUE(await_waits(waits + 1));
        EXPECT_EQ(other.release(), Released::in_time);
        EXPECT_TRUE(next.is_over(5s));
        EXPECT_FALSE(ours.mutex("orders", options).try_lock_for(100ms));
    }
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_P(Leases, AClientWhoseClockIsWrongByAnHourChangesNothing) {
    const Contenders contenders(site_->url());
    Child wrong = contenders.talker({"env", "LD_PRELOAD=" HOLDFAST_TEST_WRONG_CLOCK});
    ASSERT_EQ(wrong.hear(), "ready");
    const Client ours = rival();
    auto mutex = ours.mutex("orders", brief());
    const std::string lease = " orders " + std::to_string(GetParam().brief.count());

    auto first = mutex.acquire();
    EXPECT_EQ(wrong.ask("try" + lease), "busy");
    wrong.say("acquire" + lease);
    EXPECT_FALSE(wrong.hear(GetParam().brief * 3 / 2))
        << "it waits beyond its lease, and is not admitted";
    EXPECT_EQ(first.release(), Released::in_time);
    const auto fence = fence_in(wrong.hear().value_or("nothing"));
    EXPECT_GT(fence, first.fence());

    const auto attempt = mutex.try_acquire_for(GetParam().brief * 3 / 2);
    EXPECT_FALSE(attempt) << "it is held beyond the lease";
    EXPECT_EQ(wrong.ask("look"), "held none");
    EXPECT_EQ(wrong.ask("release"), "in_time");
    EXPECT_GT(mutex.acquire().fence(), fence);
}

class LeasesInLine : public Leases {};
HOLDFAST_AT_SITES(LeasesInLine, &StoreAtSite::has_line);

TEST_P(LeasesInLine, OneThatEndsInASilentNetworkCostsAWaiterItsPlaceAndItComesAgain) {
    auto hold = rival().mutex("orders", long_lived()).acquire();
    const Client ours = client();
    Acquiring waiter(ours, "orders", brief());
    ASSERT_TRUE(await_waiters(1));
    network().black_hole();
    ASSERT_TRUE(await_waiters(0));
    Acquiring later(rival(), "orders", long_lived());
    ASSERT_TRUE(await_waiters(1));
    EXPECT_TRUE(hold.held());
    hold.release();
    auto next = later.get();
    network().pass();
    ASSERT_TRUE(await_waiters(1));
    EXPECT_FALSE(waiter.is_over()) << "it came again, behind the other";
    next.release();
    EXPECT_GT(waiter.get().fence(), next.fence());
}

/// Where all locks of a client with one duration have one lease, or one session.
class CommonLeases : public Leases {};
HOLDFAST_AT_SITES(CommonLeases, [](const StoreAtSite& store) { return !store.runs_our_code; });

TEST_P(CommonLeases, AnIdleOneIsTakenUpAgain) {
    const Client ours = client();
    auto mutex = ours.mutex("orders", {.lease = 2s});
    // Nobody is there to keep it: beyond its half, and beyond its end.
    for (const auto idle : {1300ms, 3500ms}) {
        EXPECT_EQ(mutex.acquire().release(), Released::in_time);
        const auto since = Clock::now();
        ASSERT_TRUE(await([&] { return Clock::now() - since > idle; }));
        EXPECT_GT(mutex.acquire().remaining(), 1s) << "not what was left of it";
    }
}

// --- copies of requests that arrive after newer ones were carried out ---

class LateRenewals : public Leases {
protected:
    Result<std::vector<Standing>> renew(const Ticket& ticket,
                                        std::chrono::milliseconds lease) const {
        return store_->renew({&ticket, 1}, lease).get();
    }
    /// By a request of its own, or by the next one: on a busy machine the first may come too late.
    void expect_lengthened(const Ticket& ticket, State state = State::admitted) const {
        ASSERT_TRUE(await([&] {
            const auto renewed = renew(ticket, lengthened);
            return renewed.ok() && renewed.value().front().state == state;
        }));
    }
    Ticket enter(const Contender& one) const {
        const auto entered = store_->enter({&one, 1}).get();
        EXPECT_TRUE(entered.ok()) << entered.failure().sentence;
        return entered.value().front().ticket;
    }
    void renew_in_vain(const Ticket& ticket) const {
        const Ambush first = ambush(SeenVerb::renew, {Verdict::hold});
        EXPECT_FALSE(renew(ticket, ordinary).ok());
    }
    /// It waits, its first claim is under way for ever, and the next one takes the lock.
    Ticket take_with_a_claim_held_back(const Contender& one) const {
        auto holder = rival().mutex("orders", long_lived()).acquire();
        const Ticket ticket = enter(one);
        renew_in_vain(ticket);
        holder.release();
        EXPECT_TRUE(await([&] {
            const auto renewed = renew(ticket, ordinary);
            return renewed.ok() && renewed.value().front().state == State::admitted;
        }));
        return ticket;
    }
    void leave(const Ticket& ticket) const {
        EXPECT_EQ(store_->leave(ticket).get().value().state, State::admitted);
    }
    std::chrono::milliseconds lease_left() const {
        const auto line = open_store(site_->url()).store->look_at(contender().resource).get();
        if (!line.ok() || line.value().empty()) return 0ms;
        return line.value().front().holders.at(0).lease_left;
    }
    /// One that has all, and one that shares: servers may keep them in different places.
    std::vector<Contender> contenders() const {
        Contender writer = contender();
        writer.lease = ordinary;
        Contender reader = contender();
        reader.lease = ordinary;
        reader.weight = 1;
        reader.form = Form::read_write;
        if (!store_->capabilities().shared) return {writer};
        return {writer, reader};
    }

    static constexpr std::chrono::milliseconds ordinary = 8s;
    static constexpr std::chrono::milliseconds lengthened = 30s;
    const std::shared_ptr<Store> store_ = port("request_timeout=700ms&connect_timeout=500ms");
};
HOLDFAST_AT_SITES(LateRenewals, &StoreAtSite::runs_our_code);

TEST_P(LateRenewals, ALateCopyOfAnOlderOneDoesNotCutALengthenedLeaseShort) {
    for (const Contender& one : contenders()) {
        const Ticket ticket = enter(one);
        renew_in_vain(ticket);
        expect_lengthened(ticket);
        land();
        EXPECT_GT(lease_left(), lengthened / 2) << "weight " << one.weight;
        leave(ticket);
    }
}

TEST_P(LateRenewals, ALateCopyOfAnEnterDoesNotCutALengthenedLeaseShort) {
    for (const Contender& one : contenders()) {
        const Ambush first = ambush(SeenVerb::enter, {Verdict::hold});
        auto entering = std::async(std::launch::async, [&] { return enter(one); });
        ASSERT_TRUE(first.await_seen(1));
        network().cut();
        const Ticket ticket = entering.get();
        expect_lengthened(ticket);
        land();
        EXPECT_GT(lease_left(), lengthened / 2) << "weight " << one.weight;
        leave(ticket);
    }
}

TEST_P(LateRenewals, ANewerOneMayCutALeaseShort) {
    for (const Contender& one : contenders()) {
        const Ticket ticket = enter(one);
        expect_lengthened(ticket);
        ASSERT_TRUE(renew(ticket, ordinary).ok());
        EXPECT_LE(lease_left(), ordinary) << "weight " << one.weight;
        leave(ticket);
    }
}

TEST_P(LateRenewals, AClaimThatTimedOutAndLandsAfterTheLeaveIsNoGhost) {
    for (const bool renews : {false, true}) {
        for (const Contender& one : contenders()) {
            const Ticket ticket = take_with_a_claim_held_back(one);
            if (renews) expect_lengthened(ticket);
            leave(ticket);
            land();
            expect_free();
        }
    }
}

class LateRenewalsInLine : public LateRenewals {};
HOLDFAST_AT_SITES(LateRenewalsInLine,
                  [](const StoreAtSite& store) { return store.runs_our_code && store.has_line; });

TEST_P(LateRenewalsInLine, ALateCopyOfAWaitersShortensNothing) {
    const auto holder = rival().mutex("orders", long_lived()).acquire();
    const Ticket waiting = enter(contenders().front());
    renew_in_vain(waiting);
    expect_lengthened(waiting, State::waiting);
    land();
    const auto line = open_store(site_->url()).store->look_at(waiting.resource).get();
    EXPECT_GT(line.value().front().waiters.at(0).lease_left, lengthened / 2);
}

}  // namespace
}  // namespace holdfast::test
