#include "faults/zookeeper_faults.hpp"
#include "support/contender.hpp"

/// With barging one node has the resource's name: whatever ends it must not hit the next one.
namespace holdfast::test {
namespace {

class ZookeeperBarging : public ZookeeperFaults {
protected:
    static LockOptions barging(std::chrono::milliseconds lease = 1s) {
        return {.lease = lease, .fairness = Fairness::barging};
    }
    std::uint64_t fence_of_holder(const std::string& name) const {
        const auto found = watcher_.look_at(name);
        return found && !found->holders.empty() ? found->holders.front().fence : 0;
    }

private:
    Client watcher_ = rival();
};

TEST_F(ZookeeperBarging, AClientThatWasPausedBeyondItsSessionLeavesTheNextHolderAlone) {
    Child paused = Contenders(url_behind()).talker();
    ASSERT_EQ(paused.hear(), "ready");
    const auto fence = fence_in(paused.ask("acquire orders 1000 barging"));
    ASSERT_NE(fence, 0U);
    const auto other = rival();
    paused.stop();
    const Hold next = other.mutex("orders", barging(10s)).acquire();
    paused.go_on();
    EXPECT_EQ(paused.ask("await_loss").substr(0, 4), "lost");
    // Each verb tidies up.
    for (int i = 0; i < 3; ++i) EXPECT_EQ(fence_in(paused.ask("try orders 1000 barging")), fence);
    EXPECT_EQ(fence_of_holder("orders"), next.fence());
    EXPECT_TRUE(next.held());
}

TEST_F(ZookeeperBarging, ADroppedReplyToTheDeletionDoesNotCostTheNextHolderItsNode) {
    const auto user = client("&connect_timeout=1s");
    const auto other = rival();
    auto hold = user.mutex("orders", barging()).acquire();
    Acquiring next(other, "orders", barging(10s));
    ASSERT_TRUE(await([&] { return server_.measured("watch_count") > 0; }));
    const Ambush ambush(proxy_, asking(Verb::remove), {Verdict::drop_reply});
    // The client comes back only when the next one is in.
    proxy_.delay_replies(300ms);
    EXPECT_EQ(hold.release(), Released::unknown);
    const Hold held = next.get();
    EXPECT_FALSE(await([&] { return fence_of_holder("orders") != held.fence(); }, 500ms));
    EXPECT_EQ(ambush.seen(), 1U) << "it was deleted blindly";
}

TEST_F(ZookeeperBarging, AContainerThatTwoOfThemWantOutOfTheWayCostsNobodyItsNode) {
    // It keeps what lines leave behind.
    const ZookeeperServer tidy_seldom;
    FaultProxy slow_way(tidy_seldom.port(), zookeeper_protocol);
    const auto url_through = [](int port) {
        return "zookeeper://127.0.0.1:" + std::to_string(port) + "?tick=500ms";
    };
    const auto late = connect(url_through(slow_way.port()));
    const auto early = connect(url_through(tidy_seldom.port()));
    for (int round = 0; round < 5; ++round) {
        early.mutex("orders", long_lived()).acquire().release();
        std::atomic<bool> met = false;
        slow_way.on_request([&](auto request) {
            const auto verb = zookeeper_verb(request);
            if (met || (verb != Verb::multi && verb != Verb::remove)) return Verdict::pass;
            met = true;
            return Verdict::hold;
        });
        Acquiring second(late, "orders", barging(10s));
        ASSERT_TRUE(await([&] { return met.load(); }));
        auto first = early.mutex("orders", barging(10s)).acquire();
        slow_way.let_pass();
        EXPECT_FALSE(second.is_over(100ms)) << "two hold it";
        EXPECT_EQ(first.release(), Released::in_time);
        EXPECT_EQ(second.get().release(), Released::in_time);
        slow_way.pass();
    }
}

TEST_F(ZookeeperBarging, OneThatGotItWithoutHearingOfItAndThenLeavesIsGone) {
    const auto other = rival();
    // The container above it would be reaped, and its first try refused.
    const Hold keeps_the_way = other.mutex("open", long_lived()).acquire();
    auto first = other.mutex("orders", barging(10s)).acquire();
    const auto opened = open_store(url_behind("&request_timeout=500ms"));
    const auto& store = opened.store;
    const Contender contender{.resource = opened.prefix + "orders",
                              .nonce = {.bytes = {std::byte{7}}},
                              .owner = "it",
                              .fairness = Fairness::barging,
                              .lease = 1s};
    const auto entered = store->enter({&contender, 1}).get();
    ASSERT_TRUE(entered.ok());
    first.release();
    proxy_.on_request([&](auto request) {
        // The server gets it, and nobody hears more.
        if (zookeeper_verb(request) == Verb::create) proxy_.black_hole();
        return Verdict::pass;
    });
    const Ticket ticket = entered.value().front().ticket;
    EXPECT_FALSE(store->standing(ticket).get().ok());
    EXPECT_EQ(holders("orders"), 1U) << "it has it";
    proxy_.pass();
    EXPECT_TRUE(store->leave(ticket).get().ok());
    EXPECT_EQ(holders("orders"), 0U);
}

/// One that waits at the port, whose turn it is when the holder goes.
class ZookeeperBargingWaiter : public ZookeeperBarging {
protected:
    void wait_behind_holder(const std::string& parameters) {
        opened_ = open_store(url_behind(parameters));
        serves_.emplace(opened_.store->wire().interest());
        const Contender contender{.resource = opened_.prefix + "orders",
                                  .nonce = {.bytes = {std::byte{7}}},
                                  .owner = "it",
                                  .fairness = Fairness::barging,
                                  .lease = 4s};
        const auto entered = opened_.store->enter({&contender, 1}).get();
        ASSERT_TRUE(entered.ok());
        waiter_ = entered.value().front().ticket;
    }
    Store& store() const { return *opened_.store; }
    /// Whoever has asked does not wait for the answer.
    void try_to_take_it() {
        store().standing(waiter_).then([told = told_](const auto&) { *told = true; });
    }
    bool is_told() const { return *told_; }

    const Client other_ = rival();
    /// The container above it would be reaped, and its first try refused.
    const Hold keeps_the_way_ = other_.mutex("open", long_lived()).acquire();
    Hold holder_ = other_.mutex("orders", barging(10s)).acquire();
    Ticket waiter_;

private:
    OpenedStore opened_;
    std::optional<Wire::Interest> serves_;
    std::shared_ptr<std::atomic<bool>> told_ = std::make_shared<std::atomic<bool>>(false);
};

TEST_F(ZookeeperBargingWaiter, ThatLeavesWhileItTriesToTakeItDoesNotHaveItAfterwards) {
    wait_behind_holder("&connect_timeout=10s");
    const Ambush ambush(proxy_, asking(Verb::create), {Verdict::hold});
    holder_.release();
    try_to_take_it();
    ASSERT_TRUE(ambush.await_seen(1));
    EXPECT_TRUE(store().leave(waiter_).get().ok());
    proxy_.let_pass();
    ASSERT_TRUE(await([&] { return is_told(); })) << "it has come in";
    EXPECT_TRUE(await([&] { return holders("orders") == 0; }, 1s)) << "and goes";
}

TEST_F(ZookeeperBargingWaiter, ThatLeavesAndGotItWithoutHearingOfItIsTakenOut) {
    wait_behind_holder("&request_timeout=500ms");
    std::atomic<bool> sent = false;
    proxy_.on_request([&](auto request) {
        // The server gets it, and nobody hears more.
        if (zookeeper_verb(request) == Verb::create) {
            proxy_.black_hole();
            sent = true;
        }
        return Verdict::pass;
    });
    holder_.release();
    try_to_take_it();
    ASSERT_TRUE(await([&] { return sent.load(); }));
    EXPECT_TRUE(store().leave(waiter_).get().ok());
    ASSERT_TRUE(await([&] { return is_told(); }));
    EXPECT_EQ(holders("orders"), 1U) << "it has it";
    proxy_.pass();
    const Ticket nobodys{"other", {.bytes = {std::byte{8}}}, "0 0 "};
    EXPECT_TRUE(await(
        [&] {
            // Each verb tidies up.
            static_cast<void>(store().standing(nobodys).get());
            return holders("orders") == 0;
        },
        5s));
}

/// Two leases, and so two connections.
TEST_F(ZookeeperBarging, AHoldWhoseLeaseIsOverAndThatIsGivenBackIsDeletedOnceAndByOne) {
    const auto store =
        open_store(url_at(proxy_.port(), "?tick=1s&connect_timeout=10s&prefix=")).store;
    const Wire::Interest serves = store->wire().interest();
    const auto enter = [&](const Contender& one) {
        return store->enter({&one, 1}).get().value().front().ticket;
    };
    const Ticket ticket = enter({.resource = "orders",
                                 .nonce = {.bytes = {std::byte{1}}},
                                 .owner = "it",
                                 .fairness = Fairness::barging,
                                 .lease = 2s});
    const Moment over = BootClock::now() + 2s;
    const Ticket brief_one = enter(
        {.resource = "other", .nonce = {.bytes = {std::byte{2}}}, .owner = "it", .lease = 1s});
    ASSERT_TRUE(store->leave(brief_one).get().ok());
    const auto other = connect(url_at(server_.port(), "?tick=500ms&prefix="));
    Acquiring next(other, "orders", barging(10s));
    ASSERT_TRUE(await([&] { return server_.measured("watch_count") > 0; }));
    ASSERT_TRUE(await([&] { return BootClock::now() > over; })) << "but not its session";
    std::atomic<int> deletions = 0;
    proxy_.on_request([&](auto request) {
        if (zookeeper_verb(request) != Verb::remove) return Verdict::pass;
        return deletions++ == 0 ? Verdict::pass : Verdict::hold;
    });
    std::atomic<bool> left = false;
    store->leave(ticket).then([&](const auto&) { left = true; });
    const Hold held = next.get();
    // Of a second one, that it is on its way.
    static_cast<void>(await([&] { return deletions > 1; }, 300ms));
    proxy_.let_pass();
    EXPECT_FALSE(await([&] { return !other.look_at("orders"); }, 500ms)) << held.fence();
    EXPECT_TRUE(await([&] { return left.load(); }));
    EXPECT_EQ(deletions, 1);
}

TEST_F(ZookeeperBarging, WhatAnEndedSessionHasLeftIsNotDeletedByName) {
    ASSERT_TRUE(await_nobody("orders")) << "of an earlier run";
    const auto opened = open_store(url_behind());
    const auto& store = opened.store;
    const Wire::Interest serves = store->wire().interest();
    const Contender one{.resource = opened.prefix + "orders",
                        .nonce = {.bytes = {std::byte{1}}},
                        .owner = "it",
                        .fairness = Fairness::barging,
                        .lease = 8s};
    const Ticket ticket = store->enter({&one, 1}).get().value().front().ticket;
    std::atomic<bool> over = false;
    std::atomic<int> deletions = 0;
    proxy_.on_request([&](std::string_view request) {
        // It is there as long as it takes the server to remove it.
        if (takes_up_a_session(request)) {
            over = true;
            proxy_.garbage(session_is_over());
        }
        if (zookeeper_verb(request) == Verb::remove) ++deletions;
        return Verdict::pass;
    });
    proxy_.cut();
    ASSERT_TRUE(await([&] {
        const auto renewed = store->renew({&ticket, 1}, 8s).get();
        return renewed.ok() && renewed.value().front().state == Standing::State::gone;
    }));
    ASSERT_TRUE(over);
    const auto left = store->leave(ticket).get();
    ASSERT_TRUE(left.ok());
    EXPECT_EQ(left.value().state, Standing::State::gone);
    EXPECT_EQ(deletions, 0);
}

TEST_F(ZookeeperBarging, ALostEventIsMadeUpForByTheRenewal) {
    auto first = rival().mutex("orders", barging(10s)).acquire();
    const auto user = client();
    Acquiring second(user, "orders", barging(3s));
    ASSERT_TRUE(await([&] { return server_.measured("watch_count") > 0; }));
    proxy_.lose_pushes();
    // Between the two it is another one's, of which nothing is told either.
    first.release();
    auto between = rival().mutex("orders", barging(10s)).acquire();
    EXPECT_FALSE(second.is_over(1500ms));
    between.release();
    EXPECT_TRUE(second.is_over(5s));
    EXPECT_TRUE(second.get().held());
}

}  // namespace
}  // namespace holdfast::test
