#include "faults/sites.hpp"

/// Requests that were carried out unheard, that came late, or twice: no ghost, no double, no hang.
namespace holdfast::test {
namespace {

using State = Standing::State;

class Replies : public Trap {
protected:
    Replies() {
        // So that the next request is the one that a test is about.
        ours_.mutex("orders", long_lived()).acquire().release();
    }
    std::future<Hold> acquire_elsewhere(const Client& client, LockOptions options) const {
        return std::async(std::launch::async,
                          [=] { return client.mutex("orders", options).acquire(); });
    }
    /// Its first enter is under way still.
    Hold acquire_by_a_second_copy() const {
        const Ambush first = ambush(SeenVerb::enter, {Verdict::hold});
        auto acquiring = acquire_elsewhere(ours_, long_lived());
        EXPECT_TRUE(first.await_seen(1));
        network().cut();
        return acquiring.get();
    }
    static constexpr const char* impatient = "request_timeout=700ms&connect_timeout=500ms";

    const Client ours_ = client();
};
HOLDFAST_AT_SITES(Replies);

// --- an answer that is lost ---

TEST_P(Replies, AnEnterWhoseReplyIsLostIsOneContender) {
    for (int round = 0; round < 3; ++round) {
        const Ambush lost = ambush(SeenVerb::enter, {Verdict::drop_reply});
        auto hold = ours_.mutex("orders", long_lived()).acquire();
        EXPECT_GE(lost.seen(), GetParam().takes_late_requests ? 2U : 1U) << "it was asked again";
        EXPECT_TRUE(hold.held());
        EXPECT_EQ(holders(), std::vector{hold.fence()});
        EXPECT_EQ(waiters().size(), 0U);
        EXPECT_EQ(hold.release(), Released::in_time);
        EXPECT_TRUE(await([&] { return site_->leftovers().empty(); })) << site_->leftovers();
    }
    expect_free();
}

TEST_P(Replies, AnEnterThatNeverArrivedIsMadeAgain) {
    const Ambush lost = ambush(SeenVerb::enter, {Verdict::cut_before, Verdict::cut_before});
    auto hold = ours_.mutex("orders", long_lived()).acquire();
    EXPECT_GE(lost.seen(), 3U);
    EXPECT_EQ(holders(), std::vector{hold.fence()});
    EXPECT_EQ(hold.release(), Released::in_time);
    expect_free();
}

TEST_P(Replies, ATryWhoseReplyIsLostGetsItOrNot) {
    auto mutex = ours_.mutex("orders", long_lived());
    {
        const Ambush lost = ambush(SeenVerb::enter, {Verdict::drop_reply});
        const auto first = mutex.try_acquire();
        EXPECT_TRUE(first);
        const Ambush another = ambush(SeenVerb::enter, {Verdict::drop_reply});
        const auto second = mutex.try_acquire();
        EXPECT_FALSE(second);
        EXPECT_GE(another.seen(), GetParam().takes_late_requests ? 2U : 0U);
    }
    expect_free();
}

TEST_P(Replies, ALeaveWhoseReplyIsLostDoesNotTouchTheSuccessor) {
    auto hold = ours_.mutex("orders", long_lived()).acquire();
    Acquiring successor(rival(), "orders", long_lived());
    ASSERT_TRUE(await_waits(1));
    const Ambush lost = ambush(SeenVerb::leave_before, {Verdict::drop_reply});
    const Released how = hold.release();
    EXPECT_NE(how, Released::too_late);
    auto next = successor.get();
    EXPECT_GT(next.fence(), hold.fence());
    // Sent again on the next connection, and once more in the background when it remains unknown.
    const bool repeats = GetParam().runs_our_code;
    EXPECT_TRUE(lost.await_seen(!repeats ? 1 : how == Released::unknown ? 3 : 2));
    EXPECT_TRUE(next.held());
    EXPECT_EQ(holders(), std::vector{next.fence()});
    EXPECT_EQ(next.release(), Released::in_time);
    expect_free();
}

TEST_P(Replies, ALeaveThatIsRepeatedLeavesTheNextOneOfTheSameClientAlone) {
    auto hold = ours_.mutex("orders", long_lived()).acquire();
    Acquiring other(rival(), "orders", long_lived());
    ASSERT_TRUE(await_waits(1));
    Acquiring own(ours_, "orders", long_lived());
    ASSERT_TRUE(await_waits(2));
    const Ambush lost = ambush(SeenVerb::leave_before,
                               {Verdict::drop_reply, Verdict::drop_reply, Verdict::drop_reply});
    EXPECT_NE(hold.release(), Released::too_late);
    // Without a line it is anybody's who comes first.
    if (GetParam().has_line) {
        auto second = other.get();
        EXPECT_FALSE(own.is_over());
        EXPECT_EQ(waiters().size(), 1U);
        EXPECT_EQ(second.release(), Released::in_time);
        EXPECT_TRUE(own.get().held());
    } else {
        EXPECT_TRUE(await([&] { return own.is_over() || other.is_over(); }));
        EXPECT_EQ(holders().size(), 1U);
    }
}

TEST_P(Replies, ALeaveWhoseReplyIsLostIsNotTakenForALoss) {
    auto hold = ours_.mutex("orders", long_lived()).acquire();
    const Ambush lost = ambush(SeenVerb::leave, {Verdict::drop_reply});
    EXPECT_NE(hold.release(), Released::too_late);
    EXPECT_GE(lost.seen(), 1U);
    expect_free();
}

TEST_P(Replies, ARenewalWhoseReplyIsLostCostsNothing) {
    const Ambush lost =
        ambush(SeenVerb::renew, {Verdict::drop_reply, Verdict::cut_before, Verdict::cut_after});
    // Long enough to connect anew several times, on a machine that does much else.
    auto hold = ours_.mutex("orders", {.lease = 4 * GetParam().brief}).acquire();
    EXPECT_TRUE(lost.await_seen(6));
    EXPECT_TRUE(hold.held());
    EXPECT_FALSE(hold.lost().stop_requested());
    EXPECT_EQ(hold.release(), Released::in_time);
    expect_free();
}

/// Where a lease is asked for apart, it would end before it is used, again and again.
class LateReplies : public Replies {};
HOLDFAST_AT_SITES(LateReplies, &StoreAtSite::grants_with_enter);

TEST_P(LateReplies, AHoldWhoseReplyComesAfterItsLeaseIsBornLost) {
    auto mutex = ours_.mutex("orders", brief());
    mutex.acquire().release();
    network().delay_replies(GetParam().brief * 3 / 2);
    auto hold = mutex.acquire();
    EXPECT_FALSE(hold.held());
    EXPECT_EQ(hold.remaining(), 0ns);
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_NE(hold.loss(), Loss::none);
    auto next = rival().mutex("orders", long_lived()).acquire();
    EXPECT_GT(next.fence(), hold.fence());
    EXPECT_FALSE(hold.held());
    network().pass();
    EXPECT_NE(hold.release(), Released::in_time);
    EXPECT_EQ(next.release(), Released::in_time);
    expect_free();
}

TEST_P(Replies, AHolderWhoseLockIsDeletedByHandIsToldAtItsRenewal) {
    auto hold = ours_.mutex("orders", {.lease = GetParam().brief * 2}).acquire();
    const auto deleted = Clock::now();
    site_->delete_lock("orders");
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_LT(Clock::now() - deleted, GetParam().brief * 2);
    EXPECT_EQ(hold.loss(), Loss::ended);
    EXPECT_FALSE(hold.held());
    auto next = rival().mutex("orders", long_lived()).acquire();
    EXPECT_GT(next.fence(), hold.fence());
    EXPECT_NE(hold.release(), Released::in_time);
    EXPECT_TRUE(next.held());
    EXPECT_EQ(next.release(), Released::in_time);
    expect_free();
}

TEST_P(Replies, RenewalsThatRaceWithLeavesRecreateNothing) {
    const auto store = port();
    for (int i = 0; i < (GetParam().has_line ? 50 : 200); ++i) {
        const Contender one = contender();
        const auto entered = store->enter({&one, 1}).get();
        ASSERT_TRUE(entered.ok()) << entered.failure().sentence;
        const Ticket ticket = entered.value().front().ticket;
        const auto renew = [&] { return store->renew({&ticket, 1}, one.lease).get(); };
        std::thread renewing([&] { static_cast<void>(renew()); });
        EXPECT_EQ(store->leave(ticket).get().value().state, State::admitted);
        renewing.join();
        EXPECT_EQ(renew().value().front().state, State::gone);
    }
    expect_free();
}

TEST_P(Replies, ACancelledWaitLeavesNobodyInLineAlsoWhenTheNetworkIsDown) {
    const auto holder = rival().mutex("orders", long_lived()).acquire();
    std::stop_source stop;
    auto waiting = std::async(std::launch::async, [&] {
        auto mutex = ours_.mutex("orders", long_lived());
        return error_of([&] { return mutex.acquire(stop.get_token()); }).code();
    });
    ASSERT_TRUE(await_waits(1));
    network().refuse();
    network().cut();
    stop.request_stop();
    network().pass();
    EXPECT_EQ(waiting.get(), errc::cancelled);
    EXPECT_TRUE(await_waiters(0));
    EXPECT_TRUE(holder.held());
}

TEST_P(Replies, AHolderThatGoesWhileTheConnectionIsDownIsToldByTheNextOne) {
    auto first = rival().mutex("orders", long_lived()).acquire();
    Acquiring second(ours_, "orders", long_lived());
    ASSERT_TRUE(await_waits(1));
    network().refuse();
    network().cut();
    first.release();
    network().pass();
    EXPECT_TRUE(second.is_over(15s)) << "its renewal comes after a third of a minute";
    EXPECT_TRUE(second.get().held());
}

// --- the order in a line ---

class RepliesInLine : public Replies {};
HOLDFAST_AT_SITES(RepliesInLine, &StoreAtSite::has_line);

TEST_P(RepliesInLine, AnEnterThatWasCutOffBehindItKeepsItsPlaceInTheOrder) {
    for (const Verdict verdict : {Verdict::drop_reply, Verdict::cut_after}) {
        auto holder = rival().mutex("orders", long_lived()).acquire();
        const Ambush lost = ambush(SeenVerb::enter_behind, {verdict});
        Acquiring first(ours_, "orders", {.lease = 60s, .owner = "first"});
        ASSERT_TRUE(lost.await_seen(1));
        ASSERT_TRUE(await_waiters(1));
        Acquiring second(rival(), "orders", {.lease = 60s, .owner = "second"});
        ASSERT_TRUE(await_waiters(2));
        ASSERT_TRUE(lost.await_seen(GetParam().takes_late_requests ? 2 : 1));
        EXPECT_EQ(waiters(), (std::vector<std::string>{"first", "second"}));
        holder.release();
        auto hold = first.get();
        EXPECT_FALSE(second.is_over());
        hold.release();
        second.get().release();
    }
    expect_free();
}

TEST_P(RepliesInLine, AnOldCopyOfAnEnterThatWasRefusedIsNoGhost) {
    auto holder = rival().semaphore("orders", 3, long_lived()).acquire();
    const Ambush first = ambush(SeenVerb::enter_behind, {Verdict::hold});
    Acquiring acquiring(ours_, "orders", long_lived());
    ASSERT_TRUE(first.await_seen(1));
    network().cut();
    const Error error = error_of([&] { return acquiring.get(); });
    EXPECT_EQ(error.code(), errc::conflict) << error.what();
    holder.release();
    land();
    expect_free();
}

// --- a request that comes late ---

class LateRequests : public Replies {};
HOLDFAST_AT_SITES(LateRequests, &StoreAtSite::takes_late_requests);

TEST_P(LateRequests, AnEnterThatIsNeverHeardOfFailsAndLeavesNobody) {
    auto mutex = client(impatient).mutex("orders", long_lived());
    network().on_request([&](auto request) {
        return site_->is(SeenVerb::enter, request) ? Verdict::cut_after : Verdict::pass;
    });
    const Error error = error_of([&] { return mutex.acquire(); });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    EXPECT_EQ(error.effect(), Effect::unknown) << error.what();
    expect_free();
}

TEST_P(LateRequests, AnEnterThatNobodyWantsAnyMoreIsTakenOutUntilThatIsAnswered) {
    const auto store = port("request_timeout=500ms");
    const Contender one = contender();
    std::atomic<std::size_t> leaves{0};
    std::atomic<bool> cuts = true;
    network().on_request([&](auto request) {
        if (!site_->is(SeenVerb::leave, request)) return Verdict::pass;
        ++leaves;
        return cuts ? Verdict::cut_before : Verdict::pass;
    });
    { const auto unwanted = store->enter({&one, 1}); }
    // Whoever waits for an answer reads all.
    const auto asks = [&] { static_cast<void>(store->look_at("another").get()); };
    ASSERT_TRUE(await([&] { return asks(), leaves > 3; })) << "longer than a request is patient";
    cuts = false;
    EXPECT_TRUE(await([&] { return asks(), site_->leftovers().empty(); })) << site_->leftovers();
    network().pass();
    expect_free();
}

/// Its enter is on its way all the time, and is carried out when the way is free.
TEST_P(LateRequests, OneThatNobodyWantsIsTakenOutHoweverLongTheServerIsAway) {
    const auto store = port("request_timeout=500ms&connect_timeout=2s");
    const Contender unwanted = contender();
    network().black_hole();
    { const auto dropped = store->enter({&unwanted, 1}); }
    // Whoever waits for an answer serves all; there is none, of any of them.
    for (int i = 0; i < 4; ++i) EXPECT_FALSE(store->look_at("another").get().ok());
    network().pass();
    EXPECT_TRUE(await([&] {
        static_cast<void>(store->look_at("another").get());
        return site_->leftovers().empty();
    })) << site_->leftovers();
    expect_free();
}

TEST_P(LateRequests, AnOldCopyOfAnEnterThatLandsAfterTheLeaveIsNoGhost) {
    auto hold = acquire_by_a_second_copy();
    EXPECT_NE(hold.release(), Released::too_late);
    land();
    expect_free();
}

TEST_P(LateRequests, AnOldCopyOfAnEnterThatLandsAmidTheHoldChangesNothing) {
    auto hold = acquire_by_a_second_copy();
    land();
    EXPECT_EQ(holders(), std::vector{hold.fence()});
    EXPECT_NE(hold.release(), Released::too_late);
    expect_free();
}

TEST_P(LateRequests, AnOldCopyOfATryThatWasToldBusyIsNoGhost) {
    auto holder = rival().mutex("orders", long_lived()).acquire();
    auto mutex = ours_.mutex("orders", long_lived());
    const Ambush first = ambush(SeenVerb::enter_behind, {Verdict::hold});
    auto trying = std::async(std::launch::async, [&] { return mutex.try_acquire(); });
    ASSERT_TRUE(first.await_seen(1));
    network().cut();
    const auto busy = trying.get();
    EXPECT_FALSE(busy);
    holder.release();
    land();
    expect_free();
}

TEST_P(LateRequests, AnOldLeaveThatLandsInTheNextHoldOfTheSameClientLeavesItAlone) {
    auto mutex = ours_.mutex("orders", long_lived());
    auto first = mutex.acquire();
    const Ambush late = ambush(SeenVerb::leave, {Verdict::hold});
    auto releasing = std::async(std::launch::async, [&] { return first.release(); });
    ASSERT_TRUE(late.await_seen(1));
    network().cut();
    EXPECT_NE(releasing.get(), Released::too_late);
    auto next = mutex.acquire();
    land();
    EXPECT_EQ(holders(), std::vector{next.fence()});
    EXPECT_GT(next.fence(), first.fence());
    EXPECT_EQ(next.release(), Released::in_time);
    expect_free();
}

/// Where a request does not say itself until when it is wanted.
class GivenUpRequests : public Replies {};
HOLDFAST_AT_SITES(GivenUpRequests, &StoreAtSite::runs_our_code);

TEST_P(GivenUpRequests, ADelayedEnterIsRefusedByTheLeaveThatLookedForIt) {
    const auto store = port(impatient);
    const Contender one = contender();
    const Ambush first = ambush(SeenVerb::enter, {Verdict::hold, Verdict::hold, Verdict::hold});
    const auto unheard = store->enter({&one, 1}).get();
    ASSERT_FALSE(unheard.ok());
    EXPECT_EQ(unheard.failure().effect, Effect::unknown);
    const Ticket unknown{one.resource, one.nonce, {}};
    std::optional<Result<Standing>> left;
    ASSERT_TRUE(await([&] { return left.emplace(store->leave(unknown).get()).ok(); }));
    EXPECT_EQ(left->value().state, State::gone);
    land();
    expect_free();
}

TEST_P(GivenUpRequests, ADelayedEnterIsRefusedAfterTheAcquisitionThatFailed) {
    const Client impatient_one = client(impatient);
    auto mutex = impatient_one.mutex("orders", long_lived());
    const Ambush first = ambush(SeenVerb::enter, {Verdict::hold, Verdict::hold, Verdict::hold});
    const Error error = error_of([&] { return mutex.acquire(); });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    EXPECT_EQ(error.effect(), Effect::unknown) << error.what();
    expect_says(error, "no answer in 700 ms");
    // The clean-up may come before or after it.
    land();
    expect_free();
}

// --- where a place is claimed by a renewal ---

class LateClaims : public Replies {};
HOLDFAST_AT_SITES(LateClaims, &StoreAtSite::runs_our_code);

TEST_P(LateClaims, AClaimWhoseReplyIsLostIsOneHold) {
    auto holder = rival().mutex("orders", long_lived()).acquire();
    Acquiring acquiring(ours_, "orders", long_lived());
    ASSERT_TRUE(await_waits(1));
    const Ambush lost = ambush(SeenVerb::renew, {Verdict::drop_reply});
    holder.release();
    auto hold = acquiring.get();
    EXPECT_GE(lost.seen(), 2U);
    EXPECT_EQ(holders(), std::vector{hold.fence()});
    EXPECT_EQ(hold.release(), Released::in_time);
    expect_free();
}

TEST_P(LateClaims, AnOldCopyOfAClaimThatLandsAfterTheLeaveIsNoGhost) {
    auto holder = rival().mutex("orders", long_lived()).acquire();
    Acquiring acquiring(ours_, "orders", long_lived());
    ASSERT_TRUE(await_waits(1));
    const Ambush first = ambush(SeenVerb::renew, {Verdict::hold});
    holder.release();
    ASSERT_TRUE(first.await_seen(1));
    network().cut();
    auto hold = acquiring.get();
    EXPECT_EQ(hold.release(), Released::in_time);
    land();
    expect_free();
}

TEST_P(LateClaims, AnOldRenewalThatLandsAfterTheLeaveRecreatesNothing) {
    const Ambush first = ambush(SeenVerb::renew, {Verdict::hold});
    auto hold = ours_.mutex("orders", {.lease = 6s}).acquire();
    ASSERT_TRUE(first.await_seen(1));
    network().cut();
    EXPECT_EQ(hold.release(), Released::in_time);
    auto next = rival().mutex("orders", long_lived()).acquire();
    land();
    EXPECT_EQ(holders(), std::vector{next.fence()});
    EXPECT_EQ(next.release(), Released::in_time);
    expect_free();
}

// --- several at once, where one request enters them all ---

class SeveralReplies : public Replies {
protected:
    MultiLock several() const { return ours_.multi_lock({"a", "b", "c"}, long_lived()); }
};
HOLDFAST_AT_SITES(SeveralReplies,
                  [](const StoreAtSite& store) { return store.has_line && store.runs_our_code; });

TEST_P(SeveralReplies, AReplyThatIsLostMakesOneContenderInEachLine) {
    const Ambush lost = ambush(SeenVerb::enter_behind, {Verdict::drop_reply});
    {
        const auto hold = several().acquire();
        EXPECT_EQ(lost.seen(), 2U);
        EXPECT_EQ(hold.fences().size(), 3U);
        EXPECT_EQ(rival().inspect().size(), 3U);
        for (const auto& line : rival().inspect()) EXPECT_EQ(line.holders.size(), 1U);
    }
    expect_free("b");
}

TEST_P(SeveralReplies, AnOldCopyThatLandsAfterTheyGaveUpIsNoGhost) {
    auto holder = rival().mutex("b", long_lived()).acquire();
    const Ambush first = ambush(SeenVerb::enter_behind, {Verdict::hold});
    auto trying = std::async(std::launch::async, [&] { return several().try_acquire_for(300ms); });
    ASSERT_TRUE(first.await_seen(1));
    network().cut();
    const auto busy = trying.get();
    EXPECT_FALSE(busy);
    holder.release();
    land();
    expect_free("b");
}

TEST_P(SeveralReplies, ThatComeAgainWhileTheyWaitLockNobodyOut) {
    const Client other = rival();
    auto hold = other.mutex("b", {.lease = 1500ms}).acquire();
    const Ambush lost = ambush(SeenVerb::enter_behind, {Verdict::drop_reply});
    auto all = std::async(std::launch::async, [&] { return several().acquire(); });
    ASSERT_TRUE(lost.await_seen(1));
    ASSERT_TRUE(await([&] { return waiters("b").size() == 1; }));
    // Whatever session does it: others see it.
    auto beside = ours_.mutex("other").acquire();
    const auto attempt = other.mutex("other").try_acquire();
    EXPECT_FALSE(attempt);
    EXPECT_EQ(hold.lengthen(2s), true);
    EXPECT_EQ(hold.release(), Released::in_time);
    all.get().release();
    EXPECT_EQ(beside.release(), Released::in_time);
}

}  // namespace
}  // namespace holdfast::test
