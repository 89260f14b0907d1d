#include "servers/etcd_cluster.hpp"
#include "faults/server_faults.hpp"
#include "support/fault_proxy.hpp"
#include "support/proxy_protocol.hpp"

/// What only etcd's members do to a lock; the rest is in majority_test.cpp.
namespace holdfast::test {
namespace {

class EtcdMembers : public testing::Test {
protected:
    Client client_of_all() const { return connect(cluster_.url()); }
    /// Much longer than an election, also on a machine that is busy with others.
    static LockOptions patient() { return {.lease = 20s}; }

    EtcdCluster cluster_;
};

TEST_F(EtcdMembers, WhatADeposedLeaderKeptAliveIsNotCounted) {
    EtcdServer& deposed = cluster_.leader();
    FaultProxy way(deposed.port(), http2_protocol);
    const auto user = connect(deposed.url_through(way.port()));
    auto hold = user.mutex("orders", {.lease = 12s}).acquire();
    Acquiring next(connect(cluster_.follower().url()), "orders", patient());
    ASSERT_TRUE(await([&] { return user.look_at("orders")->waiters.size() == 1; }));
    std::atomic<int> kept_alive = 0;
    way.on_request([&](auto request) {
        if (etcd_verb(request) != EtcdVerb::keep_alive || ++kept_alive == 1) return Verdict::pass;
        way.black_hole();
        return Verdict::hold;
    });
    // It stands still while the others elect another one, and knows of nothing when it goes on.
    cluster_.cut(deposed);
    deposed.pause();
    static_cast<void>(cluster_.leader());
    ASSERT_TRUE(await([&] { return kept_alive == 1; }));
    const auto heard = way.bytes_from_server();
    deposed.resume();
    ASSERT_TRUE(await([&] { return way.bytes_from_server() > heard; }));
    cluster_.heal();
    const Hold after = next.get();
    EXPECT_FALSE(hold.held()) << hold.remaining().count();
    EXPECT_GT(after.fence(), hold.fence());
}

TEST_F(EtcdMembers, AMemberThatIsRemovedIsDoneWithout) {
    const auto user = client_of_all();
    auto hold = user.mutex("orders", patient()).acquire();
    Acquiring next(client_of_all(), "orders", patient());
    ASSERT_TRUE(await([&] { return user.look_at("orders")->waiters.size() == 1; }));
    cluster_.remove(cluster_.leader());
    static_cast<void>(cluster_.leader());
    EXPECT_FALSE(await([&] { return !hold.held(); }, 5s)) << "it is renewed by others";
    const auto fence = hold.fence();
    EXPECT_NE(hold.release(), Released::too_late);
    EXPECT_GT(next.get().fence(), fence);
}

}  // namespace
}  // namespace holdfast::test
