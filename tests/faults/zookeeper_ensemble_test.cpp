#include <gtest/gtest.h>

#include "faults/server_faults.hpp"
#include "servers/zookeeper_ensemble.hpp"

/// Three servers, of which one fails, or is cut off from the others.
namespace holdfast::test {

namespace {

class ZookeeperMajority : public testing::Test {
protected:
    static std::string parameters() { return "?tick=500ms"; }
    /// Longer than an election.
    Client patient_client() const { return connect(ensemble_.url() + "?tick=500ms"); }
    static LockOptions patient() { return {.lease = 9s}; }
    /// By this server alone.
    static Client client_of(const ZookeeperServer& server) {
        return connect(server.url() + parameters());
    }
    Client client_of_all() const { return connect(ensemble_.url() + parameters()); }
    /// Through whoever serves.
    Hold rival(const std::string& name) const {
        return client_of_all().mutex(name, {.lease = 2s}).acquire();
    }

    ZookeeperEnsemble ensemble_;
};

TEST_F(ZookeeperMajority, AHoldOnAFollowerThatIsCutOffIsLostBeforeARivalIsIn) {
    ZookeeperServer& follower = ensemble_.follower();
    const auto user = client_of(follower);
    for (const auto lease : {1s, 4s}) {
        auto hold = user.mutex("orders", {.lease = lease}).acquire();
        ensemble_.cut(follower);
        // By the others: it still serves, but what it says is old.
        const auto others = connect(ensemble_.leader().url() + parameters());
        const Hold next = others.mutex("orders", {.lease = 2s}).acquire();
        EXPECT_FALSE(hold.held()) << lease.count();
        EXPECT_TRUE(hold.lost().stop_requested());
        EXPECT_GT(next.fence(), hold.fence());
        ensemble_.heal();
        ensemble_.await_whole();
        EXPECT_NE(hold.release(), Released::in_time);
        EXPECT_TRUE(next.held());
    }
}

TEST_F(ZookeeperMajority, AHoldOnALeaderThatIsCutOffIsLostBeforeARivalIsIn) {
    ZookeeperServer& leader = ensemble_.leader();
    const auto user = client_of(leader);
    auto hold = user.mutex("orders", {.lease = 4s}).acquire();
    ensemble_.cut(leader);
    const auto others = connect(ensemble_.leader().url() + parameters());
    const Hold next = others.mutex("orders", {.lease = 2s}).acquire();
    EXPECT_FALSE(hold.held());
    EXPECT_GT(next.fence(), hold.fence());
}

/// It believes in its majority for twenty seconds after the others have left it.
class ZookeeperAbandoned : public testing::Test {
protected:
    static std::string parameters() { return "?tick=500ms"; }

    ZookeeperEnsemble ensemble_{{.settings = {"syncLimit=40"}}};
};

TEST_F(ZookeeperAbandoned, AHoldOnALeaderWhoseFollowersLeftItUnnoticedIsLostBeforeARivalIsIn) {
    ZookeeperServer& leader = ensemble_.leader();
    const auto user = connect(leader.url() + parameters());
    const Hold hold = user.mutex("orders", {.lease = 3s}).acquire();
    ensemble_.abandon(leader);
    const auto others = connect(ensemble_.leader().url() + parameters());
    const Hold next = others.mutex("orders", {.lease = 3s}).acquire();
    EXPECT_FALSE(hold.held());
    EXPECT_EQ(leader.mode(), "leader") << "it would still answer";
    EXPECT_GT(next.fence(), hold.fence());
}

TEST_F(ZookeeperMajority, AHoldSurvivesTheLeadersDeath) {
    const auto user = patient_client();
    auto hold = user.mutex("orders", patient()).acquire();
    ensemble_.leader().kill();
    static_cast<void>(ensemble_.leader());
    EXPECT_FALSE(await([&] { return !hold.held(); }, 10s)) << "it is renewed with the next one";
    const auto busy = client_of_all().mutex("orders", {.lease = 2s}).try_acquire();
    EXPECT_FALSE(busy);
    const auto fence = hold.fence();
    EXPECT_NE(hold.release(), Released::too_late);
    EXPECT_GT(rival("orders").fence(), fence);
}

TEST_F(ZookeeperMajority, AWaiterKeepsItsPlaceOverAnElection) {
    const auto user = patient_client();
    const auto other = patient_client();
    auto first = other.mutex("orders", patient()).acquire();
    Acquiring second(user, "orders", patient());
    ASSERT_TRUE(await([&] { return other.look_at("orders")->waiters.size() == 1; }));
    ensemble_.leader().kill();
    static_cast<void>(ensemble_.leader());
    EXPECT_NE(first.release(), Released::too_late);
    const Hold next = second.get();
    EXPECT_TRUE(next.held());
    EXPECT_GT(next.fence(), first.fence());
}

TEST_F(ZookeeperMajority, ADeadServerCostsAClientItsConnectionAndNothingElse) {
    // It may be connected to any of them, so to the one that dies in the end.
    const auto user = patient_client();
    for (std::size_t i = 0; i < ZookeeperEnsemble::size; ++i) {
        auto hold = user.mutex("orders", patient()).acquire();
        ensemble_.member(i).kill();
        EXPECT_FALSE(await([&] { return !hold.held(); }, 1s));
        EXPECT_NE(hold.release(), Released::too_late);
        ensemble_.member(i).start();
        ensemble_.await_whole();
    }
}

}  // namespace

}  // namespace holdfast::test
