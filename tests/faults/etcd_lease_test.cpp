#include "core/lease.hpp"
#include "faults/etcd_faults.hpp"
#include "stores/open_store.hpp"

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

TEST_F(EtcdLease, ThatTheServerKeepsForLongerIsNotEndedWhileItsHoldIsTrusted) {
    // In whole seconds: for two.
    constexpr auto lease = 1100ms;
    const auto opened = open_store(url_behind());
    const Wire::Interest serves = opened.store->wire().interest();
    const Contender contender{.resource = opened.prefix + "orders",
                              .nonce = {.bytes = {std::byte{7}}},
                              .owner = "it",
                              .lease = lease};
    const auto entered = opened.store->enter({&contender, 1}).get();
    ASSERT_TRUE(entered.ok());
    const Ticket ticket = entered.value().front().ticket;
    proxy_.delay_replies(700ms);
    const Moment sent = BootClock::now();
    const auto renewed = opened.store->renew({&ticket, 1}, lease).get();
    ASSERT_TRUE(renewed.ok());
    proxy_.pass();
    const Moment from = renewed.value().front().counted_from.value();
    ASSERT_TRUE(await([&] { return BootClock::now() > sent + lease; }));
    // Each verb takes out of line what is over.
    const Ticket nobodys{"other", {.bytes = {std::byte{8}}}, "0 0 "};
    ASSERT_TRUE(opened.store->standing(nobodys).get().ok());
    ASSERT_LT(BootClock::now(), core::valid_until(from, lease));
    EXPECT_FALSE(await([&] { return keys("orders").empty(); }, 200ms));
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
    const Ambush ambush(proxy_, asking(EtcdVerb::watch), {Verdict::hold});
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

}  // namespace
}  // namespace holdfast::test
