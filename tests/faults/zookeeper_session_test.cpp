#include <gtest/gtest.h>

#include "faults/zookeeper_faults.hpp"

/// A connection is not a session, and a session not a lease: what each of them ends.
namespace holdfast::test {

namespace {

class ZookeeperSession : public ZookeeperFaults {};

TEST_F(ZookeeperSession, ACutConnectionLosesNothing) {
    const auto user = client();
    auto hold = user.mutex("orders", brief()).acquire();
    const auto connections = proxy_.connections();
    for (int i = 0; i < 3; ++i) {
        proxy_.cut(i % 2 == 0 ? Ending::fin : Ending::reset);
        ASSERT_TRUE(proxy_.await_connections(connections + static_cast<std::size_t>(i) + 1));
        EXPECT_TRUE(hold.held());
        EXPECT_EQ(holders("orders"), 1U);
    }
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_TRUE(await_nobody("orders"));
}

TEST_F(ZookeeperSession, AHoldOutlivesItsLeaseOverAConnectionThatIsCutAgainAndAgain) {
    const auto user = client();
    auto hold = user.mutex("orders", brief()).acquire();
    const auto end = std::chrono::steady_clock::now() + 3s;
    while (std::chrono::steady_clock::now() < end) {
        proxy_.cut();
        EXPECT_FALSE(await([&] { return !hold.held(); }, 200ms));
    }
    EXPECT_EQ(hold.loss(), Loss::none);
    EXPECT_NE(hold.release(), Released::too_late);
}

TEST_F(ZookeeperSession, ASilentNetworkLosesTheHoldBeforeARivalIsIn) {
    const auto user = client();
    auto hold = user.mutex("orders", brief()).acquire();
    const auto first = hold.fence();
    proxy_.black_hole();
    const Hold next = rival().mutex("orders", long_lived()).acquire();
    EXPECT_FALSE(hold.held());
    EXPECT_TRUE(hold.lost().stop_requested());
    EXPECT_EQ(hold.loss(), Loss::overdue);
    EXPECT_GT(next.fence(), first);
    proxy_.pass();
    EXPECT_NE(hold.release(), Released::in_time);
    EXPECT_TRUE(next.held());
    EXPECT_EQ(holders("orders"), 1U);
}

TEST_F(ZookeeperSession, ALeaseAsLongAsTheSessionIsLostBeforeARivalIsInToo) {
    const auto user = client();
    const LockOptions whole{.lease = 2s};
    for (int round = 0; round < 3; ++round) {
        auto hold = user.mutex("orders", whole).acquire();
        // At any time since the last renewal.
        EXPECT_FALSE(await([&] { return !hold.held(); }, std::chrono::milliseconds{700 * round}));
        proxy_.black_hole();
        const Hold next = rival().mutex("orders", long_lived()).acquire();
        EXPECT_FALSE(hold.held());
        proxy_.pass();
        EXPECT_NE(hold.release(), Released::in_time);
    }
}

TEST_F(ZookeeperSession, AfterItsEndTheSameClientLocksAgain) {
    const auto user = client();
    auto mutex = user.mutex("orders", brief());
    std::uint64_t first = 0;
    {
        const Hold hold = mutex.acquire();
        first = hold.fence();
        proxy_.black_hole();
        ASSERT_TRUE(await_nobody("orders"));
        proxy_.pass();
    }
    const Hold again = mutex.acquire();
    EXPECT_GT(again.fence(), first);
    EXPECT_TRUE(again.held());
    EXPECT_EQ(holders("orders"), 1U);
}

TEST_F(ZookeeperSession, ThatEndsWhileWaitingIsFollowedByAnotherAndAdmitsNobody) {
    auto hold = rival().mutex("orders", long_lived()).acquire();
    const auto user = client();
    Acquiring waiter(user, "orders", brief());
    ASSERT_TRUE(await_waiters("orders", 1));
    proxy_.black_hole();
    ASSERT_TRUE(await_waiters("orders", 0));
    proxy_.pass();
    ASSERT_TRUE(await_waiters("orders", 1)) << "it holds nothing, so it comes again";
    EXPECT_TRUE(hold.held());
    hold.release();
    Hold next = waiter.get();
    EXPECT_GT(next.fence(), hold.fence());
    next.release();
    EXPECT_TRUE(await_nobody("orders"));
}

TEST_F(ZookeeperSession, ThatEndsDuringEnterIsReplacedAndItsNodeNeverAdopted) {
    const auto user = client();
    const auto sessions = server_.measured("global_sessions");
    proxy_.on_request([&](auto request) {
        // The server gets it, and nobody hears more.
        if (zookeeper_verb(request) == Verb::create) proxy_.black_hole();
        return Verdict::pass;
    });
    Acquiring entering(user, "orders", brief());
    ASSERT_TRUE(await([&] { return server_.measured("global_sessions") < sessions; }));
    ASSERT_TRUE(await_nobody("orders"));
    proxy_.pass();
    auto hold = entering.get();
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(holders("orders"), 1U);
    EXPECT_EQ(waiters("orders"), 0U);
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_F(ZookeeperSession, ThatIsOverIsNotRenewedByTheNextOne) {
    std::atomic<bool> cut = false;
    std::atomic<bool> over = false;
    const auto user = client();
    const Hold hold = user.mutex("orders", {.lease = 2s}).acquire();
    Acquiring next(rival(), "orders", long_lived());
    ASSERT_TRUE(await_waiters("orders", 1));
    proxy_.on_request([&](std::string_view request) {
        if (zookeeper_verb(request) == Verb::exists && !cut.exchange(true)) {
            return Verdict::cut_before;
        }
        if (!zookeeper_verb(request) && cut && !over.exchange(true)) {
            // Its node is there as long as it takes the server to remove it.
            proxy_.garbage(std::string("\0\0\0\x25", 4) + std::string(16, '\0') +
                           std::string("\0\0\0\x10", 4) + std::string(17, '\0'));
        }
        return Verdict::pass;
    });
    EXPECT_TRUE(next.get().held());
    EXPECT_TRUE(over);
    EXPECT_TRUE(await([&] { return !hold.held(); }, 200ms)) << "before it is renewed again";
}

TEST_F(ZookeeperSession, IsReplacedWhenTheServerWasEmptied) {
    ZookeeperServer server;
    const auto user = connect(server.url() + "?session=1s&tick=500ms");
    auto mutex = user.mutex("orders", brief());
    auto hold = mutex.acquire();
    for (int i = 0; i < 20; ++i) user.mutex("other", brief()).acquire().release();
    server.restart_empty();
    EXPECT_TRUE(await([&] { return !hold.held(); }));
    EXPECT_NE(hold.release(), Released::in_time);
    const Hold again = mutex.acquire();
    EXPECT_TRUE(again.held());
}

TEST_F(ZookeeperSession, ALeaseAboveItIsAnErrorThatNamesBoth) {
    const auto user = client();
    const auto refused = error_of([&] { return user.mutex("orders", {.lease = 3s}); });
    EXPECT_EQ(refused.code(), errc::invalid_argument);
    expect_says(refused, "a lease of 3 s");
    expect_says(refused, "to 2 s, the session that ZooKeeper grants");
    // Also when the servers grant less than was asked for.
    const auto greedy = rival("&prefix=other/");
    expect_says(error_of([&] { return greedy.mutex("orders", {.lease = 30s}); }), "to 10 s");
}

TEST_F(ZookeeperSession, IsOneForAllLocksOfAClient) {
    const auto before = server_.measured("global_sessions");
    const auto user = client();
    std::vector<Hold> holds;
    for (int i = 0; i < 20; ++i) {
        holds.push_back(user.mutex("orders/" + std::to_string(i), brief()).acquire());
    }
    EXPECT_EQ(server_.measured("global_sessions"), before + 1);
    EXPECT_EQ(proxy_.connections(), 1U);
}

TEST_F(ZookeeperSession, AnIdleOneIsTakenUpAgain) {
    const auto user = client();
    auto mutex = user.mutex("orders", {.lease = 2s});
    EXPECT_EQ(mutex.acquire().release(), Released::in_time);
    // Nobody is there to keep it: beyond its half, and beyond its end.
    const auto idle_since = std::chrono::steady_clock::now();
    ASSERT_TRUE(await([&] { return std::chrono::steady_clock::now() - idle_since > 1200ms; }));
    // Not what was left of it.
    EXPECT_GT(mutex.acquire().remaining(), 1s);
    const auto sessions = server_.measured("global_sessions");
    ASSERT_TRUE(await([&] { return server_.measured("global_sessions") < sessions; }));
    EXPECT_GT(mutex.acquire().remaining(), 1s);
}

TEST_F(ZookeeperSession, WhatALostHoldLeavesBehindIsRemovedWhileItsClientLives) {
    const auto user = client();
    const Hold hold = user.mutex("orders", {.lease = 500ms}).acquire();
    // Long enough for the lease, not for the session.
    proxy_.black_hole();
    ASSERT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    proxy_.pass();
    // Nobody gives it back; the client is used for something else.
    EXPECT_TRUE(await(
        [&] {
            static_cast<void>(user.mutex("other", brief()).try_acquire());
            return holders("orders") == 0;
        },
        5s));
}

TEST_F(ZookeeperSession, WhatCouldNotBeGivenBackIsRemovedWhenTheNetworkIsBack) {
    for (const Fairness fairness : {Fairness::fifo, Fairness::barging}) {
        const auto opened = open_store(url_behind("&request_timeout=300ms&prefix="));
        const auto store = opened.store;
        const Contender contender{.resource = "orders",
                                  .nonce = {.bytes = {std::byte{7}}},
                                  .owner = "it",
                                  .fairness = fairness,
                                  .lease = 1s};
        const auto entered = store->enter({&contender, 1}).get();
        ASSERT_TRUE(entered.ok());
        const Ticket ticket = entered.value().front().ticket;
        proxy_.black_hole();
        EXPECT_FALSE(store->renew({&ticket, 1}, 1s).get().ok()) << "this ends the connection";
        EXPECT_FALSE(store->leave(ticket).get().ok()) << "so this is never sent";
        // Nobody asks for it again.
        proxy_.pass();
        const Ticket nobodys{"other", {.bytes = {std::byte{8}}}, "0 0 "};
        EXPECT_TRUE(await(
            [&] {
                static_cast<void>(store->standing(nobodys).get());
                const auto line = store->look_at("orders").get();
                return line.ok() && (line.value().empty() || line.value().front().holders.empty());
            },
            1500ms));
    }
}

}  // namespace

}  // namespace holdfast::test
