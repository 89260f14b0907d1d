#include <thread>

#include "faults/redis_faults.hpp"

/// Requests that were carried out unheard, that came late, or twice.
namespace holdfast::test {
namespace {

using State = Standing::State;

class RedisReplies : public EachLayout {
protected:
    /// The listed holders of a lock, by fence.
    std::vector<std::uint64_t> holders(const std::string& name = "orders") const {
        std::vector<std::uint64_t> fences;
        for (const auto& line : rival().inspect(name)) {
            for (const auto& holder : line.holders) fences.push_back(holder.fence);
        }
        return fences;
    }
    /// Lets pass what was held back, and waits until the server has run it.
    void land() {
        const auto before = scripts_run(server_);
        proxy_.let_pass();
        EXPECT_TRUE(await_scripts(before + 1)) << "it did not come";
    }
    void expect_free(const std::string& name = "orders") const {
        expect_nobody_left();
        const auto next = rival().mutex(name).try_acquire();
        EXPECT_TRUE(next) << "something of it is left in line";
    }
};
HOLDFAST_FOR_EACH_REDIS_LAYOUT(RedisReplies);

TEST_P(RedisReplies, AnEnterWhoseReplyIsLostIsOneContender) {
    auto mutex = client().mutex("orders", {.lease = long_lease});
    const Ambush ambush(proxy_, &RedisLayout::enter, {Verdict::drop_reply});
    auto hold = mutex.acquire();
    EXPECT_EQ(ambush.seen(), 2U) << "it was asked again";
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(holders(), std::vector{hold.fence()});
    EXPECT_EQ(hold.release(), Released::in_time);
    expect_free();
}

TEST_P(RedisReplies, ATryWhoseReplyIsLostGetsItOrNot) {
    auto mutex = client().mutex("orders", {.lease = long_lease});
    {
        const Ambush ambush(proxy_, &RedisLayout::enter, {Verdict::drop_reply});
        const auto first = mutex.try_acquire();
        EXPECT_TRUE(first);
        const Ambush another(proxy_, &RedisLayout::enter, {Verdict::drop_reply});
        const auto second = mutex.try_acquire();
        EXPECT_FALSE(second);
        EXPECT_EQ(another.seen(), 2U);
    }
    expect_free();
}

TEST_P(RedisReplies, AnEnterThatIsNeverHeardOfFailsAndLeavesNobody) {
    auto mutex = RedisFaults::client(GetParam().parameters() + "&request_timeout=200ms")
                     .mutex("orders", {.lease = long_lease});
    proxy_.on_request([](auto request) {
        return is(&RedisLayout::enter, request) ? Verdict::cut_after : Verdict::pass;
    });
    const Error error = error_of([&] { return mutex.acquire(); });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    EXPECT_EQ(error.effect(), Effect::unknown);
    expect_free();
}

TEST_P(RedisReplies, ALeaveWhoseReplyIsLostDoesNotTouchTheSuccessor) {
    auto hold = client().mutex("orders", {.lease = long_lease}).acquire();
    const auto counting = std::make_shared<Counting>();
    const Client other = rival({.observer = counting});
    Acquiring successor(other, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return counting->waits == 1; }));
    const Ambush ambush(proxy_, &RedisLayout::leave, {Verdict::drop_reply});
    const Released how = hold.release();
    EXPECT_NE(how, Released::too_late);
    auto next = successor.get();
    EXPECT_GT(next.fence(), hold.fence());
    // Sent again on the next connection, and once more in the background when it remains unknown.
    EXPECT_TRUE(ambush.await_seen(how == Released::unknown ? 3 : 2));
    EXPECT_TRUE(next.held());
    EXPECT_EQ(holders(), std::vector{next.fence()});
    EXPECT_EQ(next.release(), Released::in_time);
    expect_free();
}

TEST_P(RedisReplies, ARenewalWhoseReplyIsLostCostsNothing) {
    const Client ours = client();
    const Ambush ambush(proxy_, &RedisLayout::renew,
                        {Verdict::drop_reply, Verdict::cut_before, Verdict::cut_after});
    auto hold = ours.mutex("orders", {.lease = 900ms}).acquire();
    EXPECT_TRUE(ambush.await_seen(6));
    EXPECT_TRUE(hold.held());
    EXPECT_FALSE(hold.lost().stop_requested());
    EXPECT_EQ(hold.release(), Released::in_time);
    expect_free();
}

TEST_P(RedisReplies, ADelayedEnterIsRefusedByTheLeaveThatLookedForIt) {
    const PortUser user(url_behind("&request_timeout=200ms"));
    const Ambush ambush(proxy_, &RedisLayout::enter, {Verdict::hold});
    const Contender one = PortUser::contender();
    const auto unheard = user.enter(one);
    ASSERT_FALSE(unheard.ok());
    EXPECT_EQ(unheard.failure().effect, Effect::unknown);
    const auto left = user.leave({one.resource, one.nonce, {}});
    ASSERT_TRUE(left.ok()) << left.failure().sentence;
    EXPECT_EQ(left.value().state, State::gone);
    land();
    expect_free();
}

TEST_P(RedisReplies, AnEnterThatNobodyWantsAnyMoreIsTakenOutUntilThatIsAnswered) {
    const PortUser user(url_behind("&request_timeout=500ms"));
    const Contender one = PortUser::contender();
    std::atomic<std::size_t> leaves{0};
    std::atomic<bool> cuts = true;
    proxy_.on_request([&](auto request) {
        if (!is(&RedisLayout::leave, request)) return Verdict::pass;
        ++leaves;
        return cuts ? Verdict::cut_before : Verdict::pass;
    });
    { const auto unwanted = user.store().enter({&one, 1}); }
    ASSERT_TRUE(user.store().look_at("another").get().ok());  // reads both answers
    ASSERT_TRUE(await([&] { return leaves > 0; }));
    std::this_thread::sleep_for(1500ms);  // three times what a request is patient for
    cuts = false;
    expect_free();
}

TEST_P(RedisReplies, ADelayedEnterIsRefusedAfterTheAcquisitionThatFailed) {
    {
        auto mutex = RedisFaults::client(GetParam().parameters() + "&request_timeout=200ms")
                         .mutex("orders", {.lease = long_lease});
        const Ambush ambush(proxy_, &RedisLayout::enter, {Verdict::hold});
        const Error error = error_of([&] { return mutex.acquire(); });
        EXPECT_EQ(error.effect(), Effect::unknown);
        expect_says(error, "no answer in 200 ms");
        // The clean-up may come before or after it.
    }
    land();
    expect_free();
}

TEST_P(RedisReplies, AnOldCopyOfAnEnterThatLandsAfterTheLeaveIsNoGhost) {
    auto mutex = client().mutex("orders", {.lease = long_lease});
    const Ambush ambush(proxy_, &RedisLayout::enter, {Verdict::hold});
    auto acquiring = std::async(std::launch::async, [&] { return mutex.acquire(); });
    ASSERT_TRUE(ambush.await_seen(1));
    proxy_.cut();
    auto hold = acquiring.get();
    EXPECT_EQ(hold.release(), Released::in_time);
    land();
    expect_free();
}

TEST_P(RedisReplies, AnOldCopyOfAnEnterThatLandsAmidTheHoldChangesNothing) {
    auto mutex = client().mutex("orders", {.lease = long_lease});
    const Ambush ambush(proxy_, &RedisLayout::enter, {Verdict::hold});
    auto acquiring = std::async(std::launch::async, [&] { return mutex.acquire(); });
    ASSERT_TRUE(ambush.await_seen(1));
    proxy_.cut();
    auto hold = acquiring.get();
    land();
    EXPECT_EQ(holders(), std::vector{hold.fence()});
    EXPECT_EQ(hold.release(), Released::in_time);
    expect_free();
}

TEST_P(RedisReplies, AnOldCopyOfATryThatWasToldBusyIsNoGhost) {
    auto holder = rival().mutex("orders", {.lease = long_lease}).acquire();
    auto mutex = client().mutex("orders", {.lease = long_lease});
    const Ambush ambush(proxy_, &RedisLayout::enter, {Verdict::hold});
    auto trying = std::async(std::launch::async, [&] { return mutex.try_acquire(); });
    ASSERT_TRUE(ambush.await_seen(1));
    proxy_.cut();
    const auto busy = trying.get();
    EXPECT_FALSE(busy);
    holder.release();
    land();
    expect_free();
}

TEST_P(RedisReplies, AnOldCopyOfAClaimThatLandsAfterTheLeaveIsNoGhost) {
    auto holder = rival().mutex("orders", {.lease = long_lease}).acquire();
    const auto counting = std::make_shared<Counting>();
    const Client ours = client({.observer = counting});
    Acquiring acquiring(ours, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return counting->waits == 1; }));
    const Ambush ambush(proxy_, &RedisLayout::renew, {Verdict::hold});
    holder.release();
    ASSERT_TRUE(ambush.await_seen(1));
    proxy_.cut();
    auto hold = acquiring.get();
    EXPECT_EQ(hold.release(), Released::in_time);
    land();
    expect_free();
}

TEST_P(RedisReplies, AnOldRenewalThatLandsAfterTheLeaveRecreatesNothing) {
    const Client ours = client();
    const Ambush ambush(proxy_, &RedisLayout::renew, {Verdict::hold});
    auto hold = ours.mutex("orders", {.lease = 1500ms}).acquire();
    ASSERT_TRUE(ambush.await_seen(1));
    proxy_.cut();
    EXPECT_EQ(hold.release(), Released::in_time);
    auto next = rival().mutex("orders", {.lease = long_lease}).acquire();
    land();
    EXPECT_EQ(holders(), std::vector{next.fence()});
    EXPECT_EQ(next.release(), Released::in_time);
    expect_free();
}

TEST_P(RedisReplies, RenewalsThatRaceWithLeavesRecreateNothing) {
    const PortUser user(url_behind());
    for (int i = 0; i < 200; ++i) {
        const auto entered = user.enter(PortUser::contender());
        ASSERT_TRUE(entered.ok());
        const Ticket ticket = entered.value().front().ticket;
        std::thread renewing([&] { user.renew(ticket); });
        EXPECT_EQ(user.leave(ticket).value().state, State::admitted);
        renewing.join();
        EXPECT_EQ(user.renew(ticket), State::gone);
    }
    expect_free();
}

TEST_P(RedisReplies, AHoldWhoseReplyComesAfterItsLeaseIsBornLost) {
    const auto counting = std::make_shared<Counting>();
    auto mutex = client({.observer = counting}).mutex("orders", {.lease = 300ms});
    proxy_.delay_replies(400ms);
    auto hold = mutex.acquire();
    EXPECT_FALSE(hold.held());
    EXPECT_EQ(hold.remaining(), 0ns);
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_NE(hold.loss(), Loss::none);
    auto next = rival().mutex("orders").acquire();
    EXPECT_GT(next.fence(), hold.fence());
    EXPECT_FALSE(hold.held());
    proxy_.pass();
    EXPECT_NE(hold.release(), Released::in_time);
    EXPECT_EQ(next.release(), Released::in_time);
    expect_free();
}

TEST_P(RedisReplies, AHolderWhoseLockIsDeletedIsToldAtItsRenewal) {
    auto hold = client().mutex("orders", {.lease = 900ms}).acquire();
    const auto deleted = std::chrono::steady_clock::now();
    EXPECT_EQ(server_.command({"DEL", GetParam().key("orders")}), "1");
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_LT(std::chrono::steady_clock::now() - deleted, 900ms);
    EXPECT_EQ(hold.loss(), Loss::ended);
    EXPECT_FALSE(hold.held());
    auto next = rival().mutex("orders", {.lease = long_lease}).acquire();
    EXPECT_GT(next.fence(), hold.fence());
    EXPECT_NE(hold.release(), Released::in_time);
    EXPECT_TRUE(next.held());
    EXPECT_EQ(next.release(), Released::in_time);
    expect_free();
}

// --- what only a line can get wrong ---

class RedisLine : public RedisFaults {
protected:
    std::vector<std::string> waiters() const {
        std::vector<std::string> owners;
        for (const auto& line : rival().inspect("orders")) {
            for (const auto& waiter : line.waiters) owners.push_back(waiter.owner);
        }
        return owners;
    }
};

TEST_F(RedisLine, AWaiterWhoseEnterLosesItsReplyKeepsItsPlaceInTheOrder) {
    auto holder = rival().mutex("orders").acquire();
    const Client ours = client();
    const Ambush ambush(proxy_, &RedisLayout::enter, {Verdict::cut_after});
    Acquiring first(ours, "orders", {.owner = "first"});
    ASSERT_TRUE(ambush.await_seen(1));
    ASSERT_TRUE(await([&] { return waiters().size() == 1; }));
    Acquiring second(rival(), "orders", {.owner = "second"});
    ASSERT_TRUE(await([&] { return waiters().size() == 2; }));
    ASSERT_TRUE(ambush.await_seen(2));
    EXPECT_EQ(waiters(), (std::vector<std::string>{"first", "second"}));
    holder.release();
    auto hold = first.get();
    EXPECT_FALSE(second.is_over());
    hold.release();
    second.get().release();
    expect_nobody_left();
}

TEST_F(RedisLine, AnOldCopyOfAnEnterThatWasRefusedIsNoGhost) {
    auto holder = rival().semaphore("orders", 3).acquire();
    const Client ours = client();
    const Ambush ambush(proxy_, &RedisLayout::enter, {Verdict::hold});
    Acquiring acquiring(ours, "orders", {.lease = long_lease});
    ASSERT_TRUE(ambush.await_seen(1));
    proxy_.cut();
    const Error error = error_of([&] { return acquiring.get(); });
    EXPECT_EQ(error.code(), errc::conflict) << error.what();
    holder.release();
    const auto before = scripts_run(server_);
    proxy_.let_pass();
    EXPECT_TRUE(await_scripts(before + 1));
    expect_nobody_left();
}

TEST_F(RedisLine, SeveralWhoseEnterLosesItsReplyAreTakenOnceAndAllGivenBack) {
    auto several = client().multi_lock({"a", "b", "c"}, {.lease = long_lease});
    const Ambush ambush(proxy_, &RedisLayout::enter, {Verdict::drop_reply});
    {
        const auto hold = several.acquire();
        EXPECT_EQ(ambush.seen(), 2U);
        EXPECT_EQ(hold.fences().size(), 3U);
        EXPECT_EQ(rival().inspect().size(), 3U);
        for (const auto& line : rival().inspect()) EXPECT_EQ(line.holders.size(), 1U);
    }
    expect_nobody_left();
}

TEST_F(RedisLine, AnOldCopyOfSeveralThatLandsAfterTheyGaveUpIsNoGhost) {
    auto holder = rival().mutex("b", {.lease = long_lease}).acquire();
    auto several = client().multi_lock({"a", "b", "c"}, {.lease = long_lease});
    const Ambush ambush(proxy_, &RedisLayout::enter, {Verdict::hold});
    auto trying = std::async(std::launch::async, [&] { return several.try_acquire_for(300ms); });
    ASSERT_TRUE(ambush.await_seen(1));
    proxy_.cut();
    const auto busy = trying.get();
    EXPECT_FALSE(busy);
    holder.release();
    const auto before = scripts_run(server_);
    proxy_.let_pass();
    EXPECT_TRUE(await_scripts(before + 1));
    expect_nobody_left();
}

TEST_F(RedisLine, AClaimWhoseReplyIsLostIsOneHold) {
    auto holder = rival().mutex("orders", {.lease = long_lease}).acquire();
    const Client ours = client();
    Acquiring acquiring(ours, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return waiters().size() == 1; }));
    const Ambush ambush(proxy_, &RedisLayout::renew, {Verdict::drop_reply});
    holder.release();
    auto hold = acquiring.get();
    EXPECT_GE(ambush.seen(), 2U);
    EXPECT_EQ(rival().inspect("orders").at(0).holders.at(0).fence, hold.fence());
    EXPECT_EQ(hold.release(), Released::in_time);
    expect_nobody_left();
}

}  // namespace
}  // namespace holdfast::test
