#include "faults/redlock_faults.hpp"

/// Requests and answers that are lost, late or doubled on the way to one of the nodes, or to most.
namespace holdfast::test {
namespace {

using State = Standing::State;
namespace scripts = redlock::scripts;

class RedlockReplies : public RedlockTrap {};

TEST_F(RedlockReplies, AnEnterWhoseAnswerIsLostAtOneNodeIsOneHolderAndLeavesNothing) {
    const Client ours = client();
    const Ambush lost(network(1), asking_for(scripts::enter), {Verdict::drop_reply});
    auto hold = ours.mutex("orders", long_lived()).acquire();
    ASSERT_TRUE(lost.await_seen(1));
    EXPECT_FALSE(rival().mutex("orders").try_lock());
    EXPECT_EQ(hold.release(), Released::in_time);
    expect_free_soon();
}

TEST_F(RedlockReplies, EntersWhoseAnswersAreLostAtAllNodesAreOneHolder) {
    const Client ours = client();
    std::vector<std::unique_ptr<Ambush>> lost;
    for (std::size_t i = 0; i < 3; ++i) {
        lost.push_back(std::make_unique<Ambush>(network(i), asking_for(scripts::enter),
                                                std::vector{Verdict::drop_reply}));
    }
    auto hold = ours.mutex("orders", long_lived()).acquire();
    EXPECT_FALSE(rival().mutex("orders").try_lock());
    EXPECT_EQ(hold.release(), Released::in_time);
    expect_free_soon();
}

TEST_F(RedlockReplies, AnEnterThatComesAfterItsLeaveIsRefused) {
    const Client ours = client("?request_timeout=500ms");
    for (std::size_t i = 0; i < 2; ++i) network(i).hold_requests();
    sentence_of([&] { static_cast<void>(ours.mutex("orders", long_lived()).try_acquire()); },
                errc::unreachable);
    for (std::size_t i = 0; i < 2; ++i) network(i).pass();
    expect_free_soon();
    EXPECT_TRUE(rival().mutex("orders").try_lock());
}

TEST_F(RedlockReplies, ALeaveWhoseAnswerIsLostLeavesTheNextHolderAlone) {
    const Client ours = client();
    auto hold = ours.mutex("orders", long_lived()).acquire();
    std::vector<std::unique_ptr<Ambush>> lost;
    for (std::size_t i = 0; i < 3; ++i) {
        lost.push_back(std::make_unique<Ambush>(network(i), asking_for(scripts::leave),
                                                std::vector{Verdict::drop_reply}));
    }
    Acquiring waiting(rival(), "orders", long_lived());
    EXPECT_NE(hold.release(), Released::too_late);
    auto next = waiting.get();
    static_cast<void>(ours.look_at("orders"));
    EXPECT_TRUE(next.held());
    EXPECT_EQ(next.release(), Released::in_time);
    expect_free_soon();
}

TEST_F(RedlockReplies, ALeaveThatIsLostAtOneNodeIsMadeUpForInTheBackground) {
    const Client ours = client("?request_timeout=500ms");
    auto hold = ours.mutex("orders", long_lived()).acquire();
    EXPECT_TRUE(await([&] { return keys_of_holders(2) != "[]"; }));
    network(2).black_hole();
    EXPECT_EQ(hold.release(), Released::in_time);
    // Time passes in which the client does other things.
    for (int i = 0; i < 20; ++i) ours.mutex("bills").acquire().release();
    network(2).pass();
    expect_free_soon();
}

TEST_F(RedlockReplies, RenewalsThatRaceWithReleasesRecreateNothing) {
    const auto store = open_store(nodes_.url()).store;
    // As any client's: else nobody would see to what is not waited for.
    store->wire().make_ready();
    for (int i = 0; i < 100; ++i) {
        const Contender one{.resource = "holdfast/orders",
                            .nonce = {{std::byte{1}, static_cast<std::byte>(i)}},
                            .owner = "somebody",
                            .lease = 60s};
        const auto entered = store->enter({&one, 1}).get();
        ASSERT_TRUE(entered.ok()) << entered.failure().sentence;
        const Ticket ticket = entered.value().front().ticket;
        const auto renew = [&] { return store->renew({&ticket, 1}, one.lease).get(); };
        std::thread renewing([&] { static_cast<void>(renew()); });
        EXPECT_EQ(store->leave(ticket).get().value().state, State::admitted);
        renewing.join();
        EXPECT_EQ(renew().value().front().state, State::gone);
    }
    expect_free_soon();
}

TEST_F(RedlockReplies, AHoldThatIsAnsweredAfterItsLeaseIsNone) {
    const Client ours = client();
    for (std::size_t i = 0; i < 2; ++i) network(i).delay_replies(600ms);
    sentence_of([&] { static_cast<void>(ours.mutex("orders", {.lease = 300ms}).try_acquire()); },
                errc::unreachable);
    for (std::size_t i = 0; i < 2; ++i) network(i).pass();
    expect_free_soon();
}

TEST_F(RedlockReplies, AHoldIsLostInItsTimeBehindABlackHole) {
    const Client ours = client("?request_timeout=500ms");
    const auto hold = ours.mutex("orders", {.lease = 2s}).acquire();
    const auto began = Clock::now();
    for (std::size_t i = 0; i < 3; ++i) network(i).black_hole();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_LT(Clock::now() - began, 2s);
    const auto next = rival().mutex("orders").acquire();
    EXPECT_FALSE(hold.held());
    EXPECT_GT(next.fence(), hold.fence());
}

TEST_F(RedlockReplies, AWaiterWhoseCallsAreLostComesInAllTheSame) {
    const Client ours = client();
    auto hold = rival().mutex("orders", {.lease = 2s}).acquire();
    for (std::size_t i = 0; i < 3; ++i) network(i).lose_pushes();
    Acquiring waiting(ours, "orders", {.lease = 2s});
    EXPECT_FALSE(waiting.is_over(300ms));
    hold.release();
    const auto released = Clock::now();
    EXPECT_TRUE(waiting.get().held());
    EXPECT_LT(Clock::now() - released, 3s) << "it looks when the lease would be over at the latest";
}

TEST_F(RedlockReplies, AWaiterIsCalledByTheNodesThatAreLeft) {
    const Client ours = client();
    auto hold = rival().mutex("orders", {.lease = 30s}).acquire();
    Acquiring waiting(ours, "orders", {.lease = 30s});
    EXPECT_FALSE(waiting.is_over(300ms));
    network(0).lose_pushes();
    const auto released = Clock::now();
    hold.release();
    EXPECT_TRUE(waiting.get().held());
    EXPECT_LT(Clock::now() - released, 2s);
}

}  // namespace
}  // namespace holdfast::test
