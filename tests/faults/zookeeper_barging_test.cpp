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
