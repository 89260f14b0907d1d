#include "servers/zookeeper_ensemble.hpp"
#include "faults/server_faults.hpp"

/// What only ZooKeeper's members do to a lock; the rest is in majority_test.cpp.
namespace holdfast::test {
namespace {

/// It believes in its majority for twenty seconds after the others have left it.
TEST(ZookeeperAbandoned, AHoldOnALeaderWhoseFollowersLeftItUnnoticedIsLostBeforeARivalIsIn) {
    ZookeeperEnsemble ensemble({.settings = {"syncLimit=40"}});
    ZookeeperServer& leader = ensemble.leader();
    const auto user = connect(leader.url() + "?tick=500ms");
    const Hold hold = user.mutex("orders", {.lease = 3s}).acquire();
    ensemble.abandon(leader);
    const auto others = connect(ensemble.leader().url() + "?tick=500ms");
    const Hold next = others.mutex("orders", {.lease = 3s}).acquire();
    EXPECT_FALSE(hold.held());
    EXPECT_EQ(leader.mode(), "leader") << "it would still answer";
    EXPECT_GT(next.fence(), hold.fence());
}

}  // namespace
}  // namespace holdfast::test
