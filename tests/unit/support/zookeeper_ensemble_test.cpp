#include "servers/zookeeper_ensemble.hpp"

#include <gtest/gtest.h>

#include "support/await.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

TEST(ZookeeperEnsemble, OneLeadsAndTheOthersFollow) {
    ZookeeperEnsemble ensemble;
    EXPECT_EQ(ensemble.leader().mode(), "leader");
    EXPECT_EQ(ensemble.follower().mode(), "follower");
    EXPECT_EQ(ensemble.leader().measured("synced_followers"), 2);
    EXPECT_EQ(ensemble.url(), "zookeeper://" + ensemble.member(0).address() + "," +
                                  ensemble.member(1).address() + "," +
                                  ensemble.member(2).address());
}

TEST(ZookeeperEnsemble, AnotherLeadsWhenTheLeaderIsKilledAndItFollowsWhenItIsBack) {
    ZookeeperEnsemble ensemble;
    ZookeeperServer& first = ensemble.leader();
    first.kill();
    ZookeeperServer& second = ensemble.leader();
    EXPECT_NE(&first, &second);
    first.restart();
    EXPECT_EQ(first.mode(), "follower");
    EXPECT_EQ(&ensemble.leader(), &second);
}

TEST(ZookeeperEnsemble, AnotherLeadsWhenTheLeaderIsPausedAndItFollowsWhenItIsResumed) {
    ZookeeperEnsemble ensemble;
    ZookeeperServer& first = ensemble.leader();
    first.pause();
    EXPECT_NE(&ensemble.leader(), &first);
    first.resume();
    EXPECT_TRUE(await([&] { return first.mode() == "follower"; }));
}

TEST(ZookeeperEnsemble, AFollowerThatIsCutOffAnswersForAWhile) {
    ZookeeperEnsemble ensemble({.settings = {"syncLimit=6"}});
    ZookeeperServer& follower = ensemble.follower();
    ensemble.cut(follower);
    const auto since = std::chrono::steady_clock::now();
    EXPECT_EQ(follower.mode(), "follower");
    EXPECT_TRUE(await([&] { return follower.mode().empty(); })) << "as long as it knows no better";
    EXPECT_GT(std::chrono::steady_clock::now() - since, 1500ms);
    EXPECT_EQ(ensemble.leader().measured("synced_followers"), 1);
    ensemble.heal();
    ensemble.await_whole();
    EXPECT_EQ(ensemble.leader().measured("synced_followers"), 2);
}

TEST(ZookeeperEnsemble, ALeaderThatIsCutOffIsFollowedByAnother) {
    ZookeeperEnsemble ensemble;
    ZookeeperServer& first = ensemble.leader();
    ensemble.cut(first);
    EXPECT_EQ(first.mode(), "leader") << "it does not know yet";
    ZookeeperServer& second = ensemble.leader();
    EXPECT_NE(&first, &second);
    EXPECT_TRUE(await([&] { return first.mode().empty(); }));
    ensemble.heal();
    ensemble.await_whole();
    EXPECT_EQ(first.mode(), "follower");
    EXPECT_EQ(&ensemble.leader(), &second);
}

}  // namespace
}  // namespace holdfast::test
