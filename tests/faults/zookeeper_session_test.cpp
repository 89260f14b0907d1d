#include "faults/zookeeper_faults.hpp"

/// A connection is not a session, and a session not a lease: what each of them ends.
namespace holdfast::test {
namespace {

class ZookeeperSession : public ZookeeperFaults {};

TEST_F(ZookeeperSession, ThatEndsDuringEnterIsReplacedAndItsNodeNeverAdopted) {
    const auto user = client();
    user.mutex("orders", brief()).acquire().release();
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
            proxy_.garbage(session_is_over());
        }
        return Verdict::pass;
    });
    EXPECT_TRUE(next.get().held());
    EXPECT_TRUE(over);
    EXPECT_TRUE(await([&] { return !hold.held(); }, 200ms)) << "before it is renewed again";
}

TEST_F(ZookeeperSession, ThatOneServerTakesForEndedEndsNoHoldThatIsStillTrusted) {
    const auto user = client();
    const LockOptions options{.lease = 3s};
    const Hold hold = user.mutex("orders", options).acquire();
    // Whoever waits hears of it at once, and whoever holds with the next renewal.
    const Hold others = rival().mutex("other", long_lived()).acquire();
    const Acquiring waiter(user, "other", options);
    ASSERT_TRUE(await_waiters("other", 1));
    Acquiring next(rival(), "orders", long_lived());
    ASSERT_TRUE(await_waiters("orders", 1));
    std::atomic<bool> over = false;
    proxy_.on_request([&](std::string_view request) {
        if (takes_up_a_session(request)) {
            over = true;
            proxy_.garbage(session_is_over());
        }
        return Verdict::pass;
    });
    proxy_.cut();
    const Hold present = next.get();
    EXPECT_FALSE(hold.held()) << hold.remaining().count();
    EXPECT_TRUE(over);
    EXPECT_TRUE(present.held());
}

TEST_F(ZookeeperSession, ALeaseAboveTheLongestThatIsGrantedIsAnErrorThatNamesBoth) {
    const auto user = client();
    const auto refused = error_of([&] { return user.mutex("orders", {.lease = 11s}); });
    EXPECT_EQ(refused.code(), errc::invalid_argument);
    expect_says(refused, "a lease of 11 s");
    expect_says(refused, "to 10 s, the longest session that ZooKeeper grants");
}

TEST_F(ZookeeperSession, TheLongestLeaseIsTheLongestThatTheServersGrant) {
    const ZookeeperServer server({.settings = {"maxSessionTimeout=40000"}});
    const auto user = connect(server.url() + "?tick=500ms");
    expect_says(error_of([&] { return user.mutex("orders", {.lease = 60s}); }), "to 40 s");
    EXPECT_TRUE(user.mutex("orders", {.lease = 40s}).acquire().held());
}

TEST_F(ZookeeperSession, IsOneForAllLocksWithTheSameLease) {
    const auto before = server_.measured("global_sessions");
    const auto user = client();
    std::vector<Hold> holds;
    for (int i = 0; i < 20; ++i) {
        holds.push_back(user.mutex("orders/" + std::to_string(i), brief()).acquire());
        holds.push_back(user.mutex("other/" + std::to_string(i), long_lived()).acquire());
    }
    EXPECT_EQ(server_.measured("global_sessions"), before + 2);
    EXPECT_EQ(proxy_.connections(), 2U);
}

TEST_F(ZookeeperSession, OfAShortLeaseEndsSoonAndLeavesTheOthersAlone) {
    const auto user = client();
    const Hold brief_one = user.mutex("brief", brief()).acquire();
    const Hold long_one = user.mutex("long", {.lease = 9s}).acquire();
    proxy_.black_hole();
    ASSERT_TRUE(await_nobody("brief"));
    proxy_.pass();
    EXPECT_FALSE(brief_one.held());
    EXPECT_TRUE(long_one.held());
    EXPECT_FALSE(await([&] { return !long_one.held(); }, 3s)) << "it is renewed";
    EXPECT_EQ(holders("long"), 1U);
}

TEST_F(ZookeeperSession, ThatNobodyUsesAnyMoreIsEnded) {
    const auto user = client();
    const Hold hold = user.mutex("orders", long_lived()).acquire();
    // Somebody who waits keeps all sessions of its client alive.
    Acquiring waiter(user, "orders", long_lived());
    ASSERT_TRUE(await_waiters("orders", 1));
    const auto sessions = server_.measured("global_sessions");
    EXPECT_EQ(user.mutex("other", brief()).acquire().release(), Released::in_time);
    EXPECT_EQ(server_.measured("global_sessions"), sessions + 1);
    EXPECT_TRUE(await([&] { return server_.measured("global_sessions") == sessions; }, 8s));
    EXPECT_EQ(user.mutex("other", brief()).acquire().release(), Released::in_time);
}

TEST_F(ZookeeperSession, ALeaseIsNotLengthenedBeyondIt) {
    const auto store = open_store(url_behind("&prefix=")).store;
    const Contender contender{
        .resource = "orders", .nonce = {.bytes = {std::byte{7}}}, .owner = "it", .lease = 1s};
    const auto entered = store->enter({&contender, 1}).get();
    ASSERT_TRUE(entered.ok());
    const Ticket ticket = entered.value().front().ticket;
    const auto refused = store->renew({&ticket, 1}, 9s).get();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.failure().code, errc::invalid_argument);
    const auto renewed = store->renew({&ticket, 1}, 1s).get();
    ASSERT_TRUE(renewed.ok());
    EXPECT_EQ(renewed.value().front().state, Standing::State::admitted);
}

TEST_F(ZookeeperSession, IsTheSameOneWhenTheServersGrantMoreThanTheyDid) {
    ZookeeperServer server;
    const auto user = connect(server.url() + "?tick=500ms");
    // The servers grant no longer one than that which the client has already.
    auto hold = user.mutex("orders", {.lease = 9500ms}).acquire();
    server.restart_with({"maxSessionTimeout=60000"});
    EXPECT_FALSE(await([&] { return !hold.held(); }, 11s)) << "it is renewed";
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_F(ZookeeperSession, ThatIsShortenedByTheServersLosesTheHoldBeforeARivalIsIn) {
    ZookeeperServer server;
    FaultProxy way(server.port(), zookeeper_protocol);
    const auto user = connect(server.url_through(way.port()) + "?tick=500ms");
    const Hold hold = user.mutex("orders", {.lease = 9s}).acquire();
    server.kill();
    const auto known = way.bytes_from_server();
    server.restart_with({"maxSessionTimeout=4000"});
    const auto other = connect(server.url() + "?tick=500ms");
    // The server knows of the client again, and has told what it grants now.
    ASSERT_TRUE(await([&] { return way.bytes_from_server() > known; }));
    way.black_hole();
    const Hold next = other.mutex("orders", {.lease = 4s}).acquire();
    EXPECT_FALSE(hold.held()) << hold.remaining().count();
    EXPECT_GT(next.fence(), hold.fence());
}

TEST_F(ZookeeperSession, ThatWasShortenedOnceLimitsNoLaterOne) {
    ZookeeperServer server;
    FaultProxy way(server.port(), zookeeper_protocol);
    const auto user = connect(server.url_through(way.port()) + "?tick=500ms");
    auto mutex = user.mutex("orders", {.lease = 9s});
    mutex.acquire().release();
    const auto is_refused = [&] {
        try {
            mutex.acquire().release();
            return false;
        } catch (const Error& error) {
            return error.code() == errc::invalid_argument;
        }
    };
    server.restart_with({"maxSessionTimeout=4000"});
    ASSERT_TRUE(await(is_refused)) << "that server grants no longer one";
    // The session is over before it could be taken up for longer.
    way.refuse();
    way.cut();
    server.restart_with({"maxSessionTimeout=10000"});
    server.restart_empty();
    way.pass();
    EXPECT_TRUE(await([&] { return !is_refused(); }));
}

TEST_F(ZookeeperSession, ThatIsShortenedIsToldToOneThatWaitsWithBarging) {
    ZookeeperServer server;
    const auto store = open_store(server.url() + "?tick=500ms&prefix=").store;
    const auto wire = store->wire().interest();
    const auto enter = [&](std::byte number) {
        const Contender one{.resource = "orders",
                            .nonce = {.bytes = {number}},
                            .owner = "it",
                            .fairness = Fairness::barging,
                            .lease = 9s};
        return store->enter({&one, 1}).get().value().front();
    };
    const Ticket holder = enter(std::byte{1}).ticket;
    const Entry waiter = enter(std::byte{2});
    ASSERT_EQ(waiter.standing.state, Standing::State::waiting);
    server.restart_with({"maxSessionTimeout=4000"});
    const std::vector tickets{holder, waiter.ticket};
    EXPECT_TRUE(await(
        [&] {
            const auto renewed = store->renew(tickets, 9s).get();
            return renewed.ok() && renewed.value()[0].state == Standing::State::gone &&
                   renewed.value()[1].state == Standing::State::gone;
        },
        5s))
        << "and not answered by an error about a lease that nobody lengthens";
}

TEST_F(ZookeeperSession, WhatALostHoldLeavesBehindIsRemovedWhileItsClientLives) {
    // Servers with such a tick would grant no shorter session than six seconds.
    const auto user = connect(url_at(proxy_.port(), "?tick=3s"));
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
        const auto opened =
            open_store(url_at(proxy_.port(), "?tick=3s&request_timeout=300ms&prefix="));
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
