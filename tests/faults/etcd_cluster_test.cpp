#include <gtest/gtest.h>

#include <utility>

#include "faults/server_faults.hpp"
#include "servers/etcd_cluster.hpp"
#include "support/fault_proxy.hpp"
#include "support/proxy_protocol.hpp"

/// Three members, of which one fails, is cut off from the others, or is taken out.
namespace holdfast::test {

namespace {

class EtcdMajority : public testing::Test {
protected:
    Client client_of_all() const { return connect(cluster_.url()); }
    /// Much longer than an election, also on a machine that is busy with others.
    static LockOptions patient() { return {.lease = 20s}; }
    static LockOptions brief() { return {.lease = 2s}; }
    /// Through whoever serves.
    Hold rival(const std::string& name) const {
        return client_of_all().mutex(name, brief()).acquire();
    }
    /// Whatever has happened to a member: what is left of the lease grows again.
    void expect_renewed(const Hold& hold) const {
        auto left = hold.remaining();
        const auto grows = [&] { return hold.remaining() > std::exchange(left, hold.remaining()); };
        EXPECT_TRUE(await([&] { return !hold.held() || grows(); }));
        EXPECT_TRUE(hold.held()) << "it is renewed by others";
        const auto busy = client_of_all().mutex("orders", brief()).try_acquire();
        EXPECT_FALSE(busy);
    }

    EtcdCluster cluster_;
};

TEST_F(EtcdMajority, AHoldByAFollowerThatIsCutOffIsLostBeforeARivalIsIn) {
    const EtcdServer& follower = cluster_.follower();
    const auto user = connect(follower.url());
    for (const auto lease : {1s, 4s}) {
        auto hold = user.mutex("orders", {.lease = lease}).acquire();
        cluster_.cut(follower);
        const auto others = connect(cluster_.leader().url());
        const Hold next = others.mutex("orders", patient()).acquire();
        EXPECT_FALSE(hold.held()) << lease.count();
        EXPECT_TRUE(hold.lost().stop_requested());
        EXPECT_GT(next.fence(), hold.fence());
        cluster_.heal();
        cluster_.await_whole();
        EXPECT_NE(hold.release(), Released::in_time);
        EXPECT_TRUE(next.held());
    }
}

TEST_F(EtcdMajority, AHoldByALeaderThatIsCutOffIsLostBeforeARivalIsIn) {
    const EtcdServer& leader = cluster_.leader();
    const auto user = connect(leader.url());
    auto hold = user.mutex("orders", {.lease = 4s}).acquire();
    cluster_.cut(leader);
    const auto others = connect(cluster_.leader().url());
    const Hold next = others.mutex("orders", brief()).acquire();
    EXPECT_FALSE(hold.held());
    EXPECT_GT(next.fence(), hold.fence());
}

TEST_F(EtcdMajority, WhatADeposedLeaderKeptAliveIsNotCounted) {
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

TEST_F(EtcdMajority, OneThatIsCutOffAdmitsNobody) {
    const EtcdServer& leader = cluster_.leader();
    const auto user = connect(leader.url() + "?request_timeout=2s");
    user.mutex("warm", patient()).acquire().release();
    cluster_.cut(leader);
    const auto others = connect(cluster_.leader().url());
    const Hold hold = others.mutex("orders", patient()).acquire();
    EXPECT_EQ(error_of([&] { return user.mutex("orders", patient()).try_acquire(); }).code(),
              errc::unreachable)
        << "it does not know of the hold, but knows that it cannot know";
    cluster_.heal();
    cluster_.await_whole();
    EXPECT_FALSE(user.mutex("orders", patient()).try_lock());
    EXPECT_TRUE(hold.held());
}

TEST_F(EtcdMajority, AHoldSurvivesTheLeadersDeath) {
    const auto user = client_of_all();
    auto hold = user.mutex("orders", patient()).acquire();
    cluster_.leader().kill();
    static_cast<void>(cluster_.leader());
    expect_renewed(hold);
    const auto fence = hold.fence();
    EXPECT_NE(hold.release(), Released::too_late);
    EXPECT_GT(rival("orders").fence(), fence);
}

TEST_F(EtcdMajority, AClientThatComesDuringAnElectionWaitsForItsEnd) {
    cluster_.leader().kill();
    client_of_all().mutex("orders", patient()).acquire().release();
}

TEST_F(EtcdMajority, AHoldSurvivesAPausedLeader) {
    const auto user = client_of_all();
    auto hold = user.mutex("orders", patient()).acquire();
    EtcdServer& paused = cluster_.leader();
    paused.pause();
    static_cast<void>(cluster_.leader());
    expect_renewed(hold);
    paused.resume();
    expect_renewed(hold);
    // A copy of it that met an election may have done it.
    EXPECT_NE(hold.release(), Released::too_late);
}

TEST_F(EtcdMajority, AHoldSurvivesALeaderThatIsCutOff) {
    const auto user = client_of_all();
    auto hold = user.mutex("orders", patient()).acquire();
    cluster_.cut(cluster_.leader());
    static_cast<void>(cluster_.leader());
    expect_renewed(hold);
    cluster_.heal();
    cluster_.await_whole();
    expect_renewed(hold);
    // A copy of it that met an election may have done it.
    EXPECT_NE(hold.release(), Released::too_late);
}

TEST_F(EtcdMajority, AWaiterKeepsItsPlaceOverAnElection) {
    const auto user = client_of_all();
    const auto other = client_of_all();
    auto first = other.mutex("orders", patient()).acquire();
    Acquiring second(user, "orders", patient());
    ASSERT_TRUE(await([&] { return other.look_at("orders")->waiters.size() == 1; }));
    cluster_.leader().kill();
    static_cast<void>(cluster_.leader());
    EXPECT_NE(first.release(), Released::too_late);
    const Hold next = second.get();
    EXPECT_TRUE(next.held());
    EXPECT_GT(next.fence(), first.fence());
}

TEST_F(EtcdMajority, AWaiterOnAPausedMemberIsToldByAnother) {
    for (std::size_t i = 0; i < EtcdCluster::size; ++i) {
        // By whichever member the waiter watches, in the end by the one that is paused.
        const auto user = client_of_all();
        const auto other = client_of_all();
        auto first = other.mutex("orders", {.lease = 30s}).acquire();
        Acquiring second(user, "orders", {.lease = 30s});
        ASSERT_TRUE(await([&] { return other.look_at("orders")->waiters.size() == 1; }));
        cluster_.member(i).pause();
        static_cast<void>(cluster_.leader());
        EXPECT_NE(first.release(), Released::too_late);
        const Hold next = second.get();
        EXPECT_TRUE(next.held());
        cluster_.member(i).resume();
        cluster_.await_whole();
    }
}

TEST_F(EtcdMajority, APausedMemberDelaysARequestForABoundedTime) {
    for (std::size_t i = 0; i < EtcdCluster::size; ++i) {
        const auto user = client_of_all();
        auto mutex = user.mutex("orders", {.lease = 30s});
        mutex.acquire().release();
        cluster_.member(i).pause();
        static_cast<void>(cluster_.leader());
        auto hold = mutex.try_acquire_for(10s);
        EXPECT_TRUE(hold.has_value());
        if (hold) hold->release();
        cluster_.member(i).resume();
        cluster_.await_whole();
    }
}

TEST_F(EtcdMajority, ADeadMemberCostsAClientItsConnectionAndNothingElse) {
    // It may be connected to any of them, so to the one that dies in the end.
    const auto user = client_of_all();
    for (std::size_t i = 0; i < EtcdCluster::size; ++i) {
        auto hold = user.mutex("orders", patient()).acquire();
        cluster_.member(i).kill();
        EXPECT_FALSE(await([&] { return !hold.held(); }, 1s));
        EXPECT_NE(hold.release(), Released::too_late);
        cluster_.member(i).start();
        cluster_.await_whole();
    }
}

TEST_F(EtcdMajority, AMemberThatIsRemovedIsDoneWithout) {
    const auto user = client_of_all();
    auto hold = user.mutex("orders", patient()).acquire();
    Acquiring next(client_of_all(), "orders", patient());
    ASSERT_TRUE(await([&] { return user.look_at("orders")->waiters.size() == 1; }));
    cluster_.remove(cluster_.leader());
    static_cast<void>(cluster_.leader());
    expect_renewed(hold);
    const auto fence = hold.fence();
    EXPECT_NE(hold.release(), Released::too_late);
    EXPECT_GT(next.get().fence(), fence);
}

}  // namespace

}  // namespace holdfast::test
