#if defined(HOLDFAST_STORE_ETCD) || defined(HOLDFAST_STORE_ZOOKEEPER)

#include "faults/server_faults.hpp"
#include "servers/etcd_cluster.hpp"
#include "servers/zookeeper_ensemble.hpp"

/// Three servers, of which one fails, or is cut off from the others: the same for each store whose
/// answers are a majority's.
namespace holdfast::test {
namespace {

struct ThreeEtcds : EtcdCluster {
    static constexpr const char* name = "etcd";
    static constexpr const char* parameters = "?";
};
struct ThreeZookeepers : ZookeeperEnsemble {
    static constexpr const char* name = "zookeeper";
    static constexpr const char* parameters = "?tick=500ms&";
    ThreeZookeepers() : ZookeeperEnsemble({.settings = {"maxSessionTimeout=60000"}}) {}
};

template <class Servers>
class Majority : public testing::Test {
protected:
    /// By this server alone.
    static Client client_of(const ServerProcess& server, const std::string& parameters = "") {
        return connect(server.url() + Servers::parameters + parameters);
    }
    Client client_of_all() const { return connect(servers_.url() + Servers::parameters); }
    /// Much longer than an election, also on a machine that is busy with others.
    static LockOptions patient() { return {.lease = 20s}; }
    static LockOptions brief() { return {.lease = 2s}; }
    /// Whatever has happened to a member: what is left of the lease grows again.
    void expect_renewed(const Hold& hold) const {
        auto left = hold.remaining();
        const auto grows = [&] { return hold.remaining() > std::exchange(left, hold.remaining()); };
        EXPECT_TRUE(await([&] { return !hold.held() || grows(); }));
        EXPECT_TRUE(hold.held()) << "it is renewed by others";
        const auto busy = client_of_all().mutex("orders", brief()).try_acquire();
        EXPECT_FALSE(busy);
    }
    [[nodiscard]] static bool await_waiter(const Client& client) {
        return await([&] { return client.look_at("orders")->waiters.size() == 1; });
    }
    /// Of those that are left, as soon as there is one.
    void await_leader() { static_cast<void>(servers_.leader()); }

    Servers servers_;
};

struct NamesOfServers {
    template <class Servers>
    static std::string GetName(int) {
        return Servers::name;
    }
};
#if defined(HOLDFAST_STORE_ETCD) && defined(HOLDFAST_STORE_ZOOKEEPER)
using ThreeServers = testing::Types<ThreeEtcds, ThreeZookeepers>;
#elif defined(HOLDFAST_STORE_ETCD)
using ThreeServers = testing::Types<ThreeEtcds>;
#else
using ThreeServers = testing::Types<ThreeZookeepers>;
#endif
TYPED_TEST_SUITE(Majority, ThreeServers, NamesOfServers);

TYPED_TEST(Majority, AHoldByAFollowerThatIsCutOffIsLostBeforeARivalIsIn) {
    auto& follower = this->servers_.follower();
    const Client user = this->client_of(follower);
    for (const auto lease : {1s, 4s}) {
        auto hold = user.mutex("orders", {.lease = lease}).acquire();
        this->servers_.cut(follower);
        // By the others: it may still serve, but what it says is old.
        const Client others = this->client_of(this->servers_.leader());
        const Hold next = others.mutex("orders", this->patient()).acquire();
        EXPECT_FALSE(hold.held()) << lease.count();
        EXPECT_TRUE(hold.lost().stop_requested());
        EXPECT_GT(next.fence(), hold.fence());
        this->servers_.heal();
        this->servers_.await_whole();
        EXPECT_NE(hold.release(), Released::in_time);
        EXPECT_TRUE(next.held());
    }
}

TYPED_TEST(Majority, AHoldByALeaderThatIsCutOffIsLostBeforeARivalIsIn) {
    auto& leader = this->servers_.leader();
    const Client user = this->client_of(leader);
    auto hold = user.mutex("orders", {.lease = 4s}).acquire();
    this->servers_.cut(leader);
    const Client others = this->client_of(this->servers_.leader());
    const Hold next = others.mutex("orders", this->brief()).acquire();
    EXPECT_FALSE(hold.held());
    EXPECT_GT(next.fence(), hold.fence());
}

TYPED_TEST(Majority, OneThatIsCutOffAdmitsNobody) {
    auto& leader = this->servers_.leader();
    const Client user = this->client_of(leader, "request_timeout=2s");
    user.mutex("warm", this->patient()).acquire().release();
    this->servers_.cut(leader);
    const Client others = this->client_of(this->servers_.leader());
    const Hold hold = others.mutex("orders", this->patient()).acquire();
    auto mutex = user.mutex("orders", this->patient());
    EXPECT_EQ(error_of([&] { return mutex.try_acquire(); }).code(), errc::unreachable)
        << "it does not know of the hold, but knows that it cannot know";
    this->servers_.heal();
    this->servers_.await_whole();
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_TRUE(hold.held());
}

TYPED_TEST(Majority, AHoldSurvivesTheLeadersDeath) {
    const Client user = this->client_of_all();
    auto hold = user.mutex("orders", this->patient()).acquire();
    this->servers_.leader().kill();
    this->await_leader();
    this->expect_renewed(hold);
    const auto fence = hold.fence();
    EXPECT_NE(hold.release(), Released::too_late);
    EXPECT_GT(this->client_of_all().mutex("orders", this->brief()).acquire().fence(), fence);
}

TYPED_TEST(Majority, AClientThatComesDuringAnElectionWaitsForItsEnd) {
    this->servers_.leader().kill();
    this->client_of_all().mutex("orders", this->patient()).acquire().release();
}

TYPED_TEST(Majority, AHoldSurvivesAPausedLeader) {
    const Client user = this->client_of_all();
    auto hold = user.mutex("orders", this->patient()).acquire();
    auto& paused = this->servers_.leader();
    paused.pause();
    this->await_leader();
    this->expect_renewed(hold);
    paused.resume();
    this->expect_renewed(hold);
    EXPECT_EQ(hold.release(), Released::in_time);
}

TYPED_TEST(Majority, AHoldSurvivesALeaderThatIsCutOff) {
    const Client user = this->client_of_all();
    auto hold = user.mutex("orders", this->patient()).acquire();
    this->servers_.cut(this->servers_.leader());
    this->await_leader();
    this->expect_renewed(hold);
    this->servers_.heal();
    this->servers_.await_whole();
    this->expect_renewed(hold);
    EXPECT_EQ(hold.release(), Released::in_time);
}

TYPED_TEST(Majority, AWaiterKeepsItsPlaceOverAnElection) {
    const Client user = this->client_of_all();
    const Client other = this->client_of_all();
    auto first = other.mutex("orders", this->patient()).acquire();
    Acquiring second(user, "orders", this->patient());
    ASSERT_TRUE(this->await_waiter(other));
    this->servers_.leader().kill();
    this->await_leader();
    EXPECT_NE(first.release(), Released::too_late);
    const Hold next = second.get();
    EXPECT_TRUE(next.held());
    EXPECT_GT(next.fence(), first.fence());
}

TYPED_TEST(Majority, AWaiterOnAPausedMemberIsToldByAnother) {
    for (std::size_t i = 0; i < TypeParam::size; ++i) {
        // By whichever member the waiter watches, in the end by the one that is paused.
        const Client user = this->client_of_all();
        const Client other = this->client_of_all();
        auto first = other.mutex("orders", {.lease = 30s}).acquire();
        Acquiring second(user, "orders", {.lease = 30s});
        ASSERT_TRUE(this->await_waiter(other));
        this->servers_.member(i).pause();
        this->await_leader();
        EXPECT_NE(first.release(), Released::too_late);
        EXPECT_TRUE(second.get().held());
        this->servers_.member(i).resume();
        this->servers_.await_whole();
    }
}

TYPED_TEST(Majority, APausedMemberDelaysARequestForABoundedTime) {
    for (std::size_t i = 0; i < TypeParam::size; ++i) {
        const Client user = this->client_of_all();
        auto mutex = user.mutex("orders", {.lease = 30s});
        mutex.acquire().release();
        this->servers_.member(i).pause();
        this->await_leader();
        auto hold = mutex.try_acquire_for(10s);
        EXPECT_TRUE(hold.has_value());
        if (hold) hold->release();
        this->servers_.member(i).resume();
        this->servers_.await_whole();
    }
}

TYPED_TEST(Majority, ADeadMemberCostsAClientItsConnectionAndNothingElse) {
    // It may be connected to any of them, so to the one that dies in the end.
    const Client user = this->client_of_all();
    for (std::size_t i = 0; i < TypeParam::size; ++i) {
        auto hold = user.mutex("orders", this->patient()).acquire();
        this->servers_.member(i).kill();
        EXPECT_FALSE(await([&] { return !hold.held(); }, 1s));
        EXPECT_NE(hold.release(), Released::too_late);
        this->servers_.member(i).start();
        this->servers_.await_whole();
    }
}

}  // namespace
}  // namespace holdfast::test

#endif
