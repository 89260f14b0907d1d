#include <gtest/gtest.h>

#include "faults/etcd_faults.hpp"
#include "faults/wall_clock.hpp"

/// A lease that ends, or does not, and what happens in the meantime.
namespace holdfast::test {

namespace {

class EtcdLease : public EtcdFaults {};

TEST_F(EtcdLease, ThatIsRevokedEndsTheHoldWhichIsTold) {
    const auto user = client();
    auto hold = user.mutex("orders", brief()).acquire();
    Acquiring next(rival(), "orders", long_lived());
    ASSERT_TRUE(await_waiters("orders", 1));
    revoke_lease_of("orders", 0);
    const Hold after = next.get();
    EXPECT_GT(after.fence(), hold.fence());
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }, 1500ms));
    EXPECT_FALSE(hold.held());
    EXPECT_EQ(hold.loss(), Loss::ended);
    EXPECT_NE(hold.release(), Released::in_time);
    EXPECT_TRUE(after.held());
    EXPECT_EQ(holders("orders"), 1U);
}

TEST_F(EtcdLease, ThatIsRevokedWhileWaitingIsToldAtOnceAndItStandsInLineAgain) {
    auto hold = rival().mutex("orders", long_lived()).acquire();
    const auto user = client();
    Acquiring waiter(user, "orders", {.lease = 30s});
    ASSERT_TRUE(await_waiters("orders", 1));
    // It watches.
    EXPECT_FALSE(waiter.is_over(100ms));
    const std::string before = keys("orders").at(1);
    revoke_lease_of("orders", 1);
    const auto stands_again = [&] {
        const auto present = keys("orders");
        return present.size() == 2 && present.at(1) != before;
    };
    EXPECT_TRUE(await(stands_again, 3s)) << "before it looks with its renewal";
    EXPECT_FALSE(waiter.is_over());
    EXPECT_TRUE(hold.held());
    hold.release();
    EXPECT_GT(waiter.get().fence(), hold.fence());
}

TEST_F(EtcdLease, ThatWasRevokedWhileNobodyUsedItIsReplaced) {
    const auto user = client();
    auto mutex = user.mutex("orders", long_lived());
    std::uint64_t last = 0;
    for (int round = 0; round < 3; ++round) {
        auto hold = mutex.acquire();
        EXPECT_GT(hold.fence(), last);
        last = hold.fence();
        const std::string key = keys("orders").at(0);
        const std::string contender = key.substr(key.rfind('/') + 1);
        hold.release();
        server_.ctl({"lease", "revoke", contender.substr(0, contender.find('-'))});
    }
    EXPECT_TRUE(mutex.acquire().held());
}

TEST_F(EtcdLease, IsOneForAllLocksOfAClientWithOneDuration) {
    const auto user = client();
    const auto granted = [&] { return server_.counted("etcdserverpb.Lease", "LeaseGrant"); };
    const auto streams = [&] { return server_.counted("etcdserverpb.Lease", "LeaseKeepAlive"); };
    const double before = granted();
    const double streams_before = streams();
    std::vector<Hold> holds;
    for (int i = 0; i < 20; ++i) {
        holds.push_back(user.mutex("orders/" + std::to_string(i), brief()).acquire());
    }
    EXPECT_EQ(granted() - before, 1);
    for (int i = 0; i < 20; ++i) {
        holds.push_back(user.mutex("other/" + std::to_string(i), long_lived()).acquire());
    }
    EXPECT_EQ(granted() - before, 2);
    for (const Hold& hold : holds) {
        EXPECT_FALSE(await([&] { return !hold.held(); }, 100ms));
    }
    EXPECT_EQ(granted() - before, 2);
    EXPECT_LE(streams() - streams_before, 1) << "one for both";
}

TEST_F(EtcdLease, OutlivesAConnectionThatIsCutAgainAndAgain) {
    const auto user = client();
    auto hold = user.mutex("orders", brief()).acquire();
    const auto end = std::chrono::steady_clock::now() + 5s;
    for (int i = 0; std::chrono::steady_clock::now() < end; ++i) {
        proxy_.cut(i % 2 == 0 ? Ending::fin : Ending::reset);
        EXPECT_FALSE(await([&] { return !hold.held(); }, 400ms));
    }
    EXPECT_EQ(hold.loss(), Loss::none);
    EXPECT_NE(hold.release(), Released::too_late);
    EXPECT_TRUE(await_nobody("orders"));
}

TEST_F(EtcdLease, ASilentNetworkLosesTheHoldBeforeARivalIsIn) {
    const auto user = client();
    for (int round = 0; round < 3; ++round) {
        auto hold = user.mutex("orders", brief()).acquire();
        // At any time since the last renewal.
        EXPECT_FALSE(await([&] { return !hold.held(); }, std::chrono::milliseconds{300 * round}));
        proxy_.black_hole();
        const Hold next = rival().mutex("orders", long_lived()).acquire();
        EXPECT_FALSE(hold.held());
        EXPECT_TRUE(hold.lost().stop_requested());
        EXPECT_EQ(hold.loss(), Loss::overdue);
        EXPECT_GT(next.fence(), hold.fence());
        proxy_.pass();
        EXPECT_NE(hold.release(), Released::in_time);
        EXPECT_TRUE(next.held());
        EXPECT_EQ(holders("orders"), 1U);
    }
}

TEST_F(EtcdLease, ThatEndsInASilentNetworkWhileWaitingCostsThePlaceInLine) {
    auto hold = rival().mutex("orders", long_lived()).acquire();
    const auto user = client();
    Acquiring waiter(user, "orders", brief());
    ASSERT_TRUE(await_waiters("orders", 1));
    proxy_.black_hole();
    ASSERT_TRUE(await_waiters("orders", 0));
    Acquiring later(rival(), "orders", long_lived());
    ASSERT_TRUE(await_waiters("orders", 1));
    hold.release();
    auto next = later.get();
    proxy_.pass();
    ASSERT_TRUE(await_waiters("orders", 1));
    EXPECT_FALSE(waiter.is_over()) << "it came again, behind the other";
    next.release();
    EXPECT_GT(waiter.get().fence(), next.fence());
}

TEST_F(EtcdLease, AfterItsEndTheSameClientLocksAgain) {
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

TEST_F(EtcdLease, AnIdleOneIsTakenUpAgain) {
    const auto user = client();
    auto mutex = user.mutex("orders", brief());
    // Nobody is there to keep it: beyond its half, and beyond its end.
    for (const auto idle : {1200ms, 3500ms}) {
        EXPECT_EQ(mutex.acquire().release(), Released::in_time);
        const auto since = std::chrono::steady_clock::now();
        ASSERT_TRUE(await([&] { return std::chrono::steady_clock::now() - since > idle; }));
        EXPECT_GT(mutex.acquire().remaining(), 1s) << "not what was left of it";
    }
}

TEST_F(EtcdLease, ACompactionDuringAWaitLosesNoEvent) {
    auto first = rival().mutex("orders", long_lived()).acquire();
    const auto user = client();
    Acquiring second(user, "orders", {.lease = 30s});
    ASSERT_TRUE(await_waiters("orders", 1));
    compact();
    first.release();
    EXPECT_TRUE(second.is_over(5s)) << "before it looks with its renewal";
    EXPECT_TRUE(second.get().held());
}

TEST_F(EtcdLease, ACompactionBeforeTheWatchIsThereLosesNoEvent) {
    auto first = rival().mutex("orders", long_lived()).acquire();
    const auto user = client();
    const EtcdAmbush ambush(proxy_, EtcdVerb::watch, {Verdict::hold});
    Acquiring second(user, "orders", {.lease = 30s});
    ASSERT_TRUE(await_waiters("orders", 1));
    ASSERT_TRUE(ambush.await_seen(1));
    first.release();
    compact();
    proxy_.let_pass();
    EXPECT_TRUE(second.is_over(5s)) << "before it looks with its renewal";
    EXPECT_TRUE(second.get().held());
}

TEST_F(EtcdLease, ACompactionWhileTheConnectionIsDownLosesNoEvent) {
    auto first = rival().mutex("orders", long_lived()).acquire();
    const auto user = client();
    Acquiring second(user, "orders", {.lease = 30s});
    ASSERT_TRUE(await_waiters("orders", 1));
    proxy_.refuse();
    proxy_.cut();
    first.release();
    compact();
    proxy_.pass();
    EXPECT_TRUE(second.is_over(8s)) << "before it looks with its renewal";
    EXPECT_TRUE(second.get().held());
}

TEST_F(EtcdLease, KnowsNothingOfTheTimeOfDay) {
    const WallClock clock;
    const auto user = client();
    auto hold = user.mutex("orders", brief()).acquire();
    std::uint64_t last = hold.fence();
    for (const auto offset : {24h, -48h, 0h}) {
        WallClock::jump_to(offset);
        EXPECT_FALSE(await([&] { return !hold.held(); }, 2500ms)) << "it is renewed";
        auto mutex = user.mutex("other", brief());
        auto other = mutex.acquire();
        EXPECT_GT(other.fence(), last);
        last = other.fence();
        EXPECT_GT(other.remaining(), 500ms);
        EXPECT_LE(other.remaining(), 2s);
        Acquiring next(user, "other", brief());
        ASSERT_TRUE(await_waiters("other", 1));
        EXPECT_EQ(other.release(), Released::in_time);
        EXPECT_TRUE(next.is_over(5s));
        EXPECT_FALSE(user.mutex("orders", brief()).try_lock_for(100ms));
    }
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_F(EtcdLease, SurvivesARestartOfTheServer) {
    EtcdServer server;
    const auto user = connect(server.url());
    auto hold = user.mutex("orders", long_lived()).acquire();
    const auto rival = connect(server.url());
    Acquiring next(rival, "orders", long_lived());
    ASSERT_TRUE(await([&] { return user.look_at("orders")->waiters.size() == 1; }));
    server.restart();
    EXPECT_FALSE(await([&] { return !hold.held(); }, 11s)) << "it is renewed";
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_GT(next.get().fence(), hold.fence());
}

TEST_F(EtcdLease, IsReplacedWhenTheServerWasEmptied) {
    EtcdServer server;
    const auto user = connect(server.url());
    auto mutex = user.mutex("orders", brief());
    auto hold = mutex.acquire();
    server.restart_empty();
    EXPECT_TRUE(await([&] { return !hold.held(); }));
    EXPECT_NE(hold.release(), Released::in_time);
    EXPECT_TRUE(mutex.acquire().held());
}

}  // namespace

}  // namespace holdfast::test
