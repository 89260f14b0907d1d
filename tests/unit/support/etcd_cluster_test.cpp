#include "servers/etcd_cluster.hpp"

#include <gtest/gtest.h>

#include "support/await.hpp"

namespace holdfast::test {
namespace {

TEST(EtcdCluster, OneLeadsAndAllServe) {
    EtcdCluster cluster;
    EXPECT_TRUE(cluster.leader().leads());
    EXPECT_FALSE(cluster.follower().leads());
    cluster.leader().ctl({"put", "key", "value"});
    for (std::size_t index = 0; index < EtcdCluster::size; ++index) {
        EXPECT_EQ(cluster.member(index).ctl({"get", "key"}), "key\nvalue");
    }
    EXPECT_EQ(cluster.url(), "etcd://" + cluster.member(0).address() + "," +
                                 cluster.member(1).address() + "," + cluster.member(2).address());
}

TEST(EtcdCluster, AnotherLeadsWhenTheLeaderIsKilledAndItFollowsWhenItIsBack) {
    EtcdCluster cluster;
    EtcdServer& first = cluster.leader();
    first.kill();
    const EtcdServer& second = cluster.leader();
    EXPECT_NE(&first, &second);
    first.restart();
    EXPECT_FALSE(first.leads());
}

TEST(EtcdCluster, AnotherLeadsWhenTheLeaderIsPausedAndItFollowsWhenItIsResumed) {
    EtcdCluster cluster;
    const EtcdServer& first = cluster.leader();
    first.pause();
    EXPECT_NE(&cluster.leader(), &first);
    first.resume();
    EXPECT_TRUE(await([&] { return first.serves() && !first.leads(); }));
}

TEST(EtcdCluster, AFollowerThatIsCutOffDoesNotServeUntilItIsHealed) {
    EtcdCluster cluster;
    const EtcdServer& follower = cluster.follower();
    cluster.cut(follower);
    EXPECT_TRUE(await([&] { return !follower.serves(); }));
    EXPECT_EQ(follower.ctl({"get", "key", "--consistency=s"}), "") << "clients reach it still";
    EXPECT_TRUE(cluster.leader().serves());
    cluster.heal();
    cluster.await_whole();
}

TEST(EtcdCluster, ALeaderThatIsCutOffIsFollowedByAnother) {
    EtcdCluster cluster;
    const EtcdServer& first = cluster.leader();
    cluster.cut(first);
    const EtcdServer& second = cluster.leader();
    EXPECT_NE(&first, &second);
    EXPECT_TRUE(second.serves());
    EXPECT_TRUE(await([&] { return !first.leads(); }));
    EXPECT_FALSE(first.serves());
    cluster.heal();
    cluster.await_whole();
}

TEST(EtcdCluster, AMemberThatIsRemovedServesNobody) {
    EtcdCluster cluster;
    const EtcdServer& removed = cluster.follower();
    cluster.remove(removed);
    EXPECT_TRUE(await([&] { return !removed.serves(); }));
    EXPECT_TRUE(cluster.leader().serves());
}

}  // namespace
}  // namespace holdfast::test
