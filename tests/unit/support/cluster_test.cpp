#include "servers/etcd_cluster.hpp"
#include "servers/zookeeper_ensemble.hpp"
#include "support/suite.hpp"

/// Three servers that elect a leader among them, whichever they are.
namespace holdfast::test {
namespace {

template <class Servers>
class ACluster : public testing::Test {
protected:
    Servers servers_;
};
using Clusters = testing::Types<EtcdCluster, ZookeeperEnsemble>;
TYPED_TEST_SUITE(ACluster, Clusters);

TYPED_TEST(ACluster, HasOneThatLeadsAndTheOthersFollow) {
    auto& leader = this->servers_.leader();
    EXPECT_TRUE(leader.leads());
    for (std::size_t index = 0; index < TypeParam::size; ++index) {
        auto& member = this->servers_.member(index);
        EXPECT_NE(member.leads(), member.follows());
        EXPECT_EQ(member.leads(), &member == &leader);
    }
    EXPECT_TRUE(this->servers_.url().ends_with("://" + this->servers_.member(0).address() + "," +
                                               this->servers_.member(1).address() + "," +
                                               this->servers_.member(2).address()));
}

TYPED_TEST(ACluster, HasAnotherLeaderWhenItIsKilledAndItFollowsWhenItIsBack) {
    auto& first = this->servers_.leader();
    first.kill();
    auto& second = this->servers_.leader();
    EXPECT_NE(&first, &second);
    first.restart();
    EXPECT_TRUE(first.follows());
    EXPECT_EQ(&this->servers_.leader(), &second);
}

TYPED_TEST(ACluster, HasAnotherLeaderWhenItIsPausedAndItFollowsWhenItIsResumed) {
    auto& first = this->servers_.leader();
    first.pause();
    EXPECT_NE(&this->servers_.leader(), &first);
    first.resume();
    EXPECT_TRUE(await([&] { return first.follows(); }));
}

TYPED_TEST(ACluster, GoesOnWithoutAFollowerThatIsCutOffUntilItIsHealed) {
    auto& follower = this->servers_.follower();
    this->servers_.cut(follower);
    EXPECT_TRUE(await([&] { return !follower.follows(); }));
    EXPECT_TRUE(connect_to_port(follower.port())) << "clients reach it still";
    EXPECT_TRUE(this->servers_.leader().leads());
    this->servers_.heal();
    this->servers_.await_whole();
    EXPECT_TRUE(follower.follows());
}

TYPED_TEST(ACluster, HasAnotherLeaderWhenItIsCutOffAndItFollowsWhenItIsHealed) {
    auto& first = this->servers_.leader();
    this->servers_.cut(first);
    auto& second = this->servers_.leader();
    EXPECT_NE(&first, &second);
    EXPECT_TRUE(await([&] { return !first.leads(); }));
    this->servers_.heal();
    this->servers_.await_whole();
    EXPECT_TRUE(first.follows());
    EXPECT_EQ(&this->servers_.leader(), &second);
}

TEST(EtcdCluster, WhatOneIsToldTheOthersKnow) {
    EtcdCluster cluster;
    cluster.leader().ctl({"put", "key", "value"});
    for (std::size_t index = 0; index < EtcdCluster::size; ++index) {
        EXPECT_EQ(cluster.member(index).ctl({"get", "key"}), "key\nvalue");
    }
}

TEST(EtcdCluster, AFollowerThatIsCutOffAnswersWhatIsNotTheMajoritys) {
    EtcdCluster cluster;
    const EtcdServer& follower = cluster.follower();
    cluster.cut(follower);
    EXPECT_TRUE(await([&] { return !follower.serves(); }));
    EXPECT_EQ(follower.ctl({"get", "key", "--consistency=s"}), "");
    EXPECT_TRUE(cluster.leader().serves());
}

TEST(EtcdCluster, AMemberThatIsRemovedServesNobody) {
    EtcdCluster cluster;
    const EtcdServer& removed = cluster.follower();
    cluster.remove(removed);
    EXPECT_TRUE(await([&] { return !removed.serves(); }));
    EXPECT_TRUE(cluster.leader().serves());
}

TEST(ZookeeperEnsemble, AFollowerThatIsCutOffAnswersForAWhile) {
    ZookeeperEnsemble ensemble({.settings = {"syncLimit=6"}});
    ZookeeperServer& follower = ensemble.follower();
    // Both notice by themselves that they hear no more of each other.
    const auto followers_are = [&](double count) {
        return await([&] { return ensemble.leader().measured("synced_followers") == count; });
    };
    EXPECT_TRUE(followers_are(2));
    ensemble.cut(follower);
    const auto since = std::chrono::steady_clock::now();
    EXPECT_EQ(follower.mode(), "follower");
    EXPECT_TRUE(await([&] { return follower.mode().empty(); })) << "as long as it knows no better";
    EXPECT_GT(std::chrono::steady_clock::now() - since, 1500ms);
    EXPECT_TRUE(followers_are(1));
    ensemble.heal();
    ensemble.await_whole();
    EXPECT_TRUE(followers_are(2));
}

TEST(ZookeeperEnsemble, ALeaderThatIsCutOffDoesNotKnowItYet) {
    ZookeeperEnsemble ensemble;
    ZookeeperServer& first = ensemble.leader();
    ensemble.cut(first);
    EXPECT_EQ(first.mode(), "leader");
    EXPECT_TRUE(await([&] { return first.mode().empty(); }));
}

}  // namespace
}  // namespace holdfast::test
