#include "checkup/examined.hpp"
#include "servers/zookeeper_ensemble.hpp"
#include "servers/zookeeper_server.hpp"

namespace holdfast::test {
namespace {

TEST(CheckedZookeeper, OfThreeIsWell) {
    ZookeeperEnsemble ensemble({.settings = {"maxSessionTimeout=60000"}});
    const Checkup checkup = expect_well(ensemble.url());
    EXPECT_FALSE(checkup.clock_ahead) << "leases are counted without one";
    EXPECT_THAT(found_on(ensemble.member(0).url()), ElementsAre("zookeeper.unnamed_servers"));
}

TEST(CheckedZookeeper, IsFoundToBeAloneAndToGrantShortSessions) {
    ZookeeperServer server({.settings = {"maxSessionTimeout=60000"}});
    EXPECT_THAT(found_on(server.url()), ElementsAre("zookeeper.few_servers"));
    server.restart_with({"maxSessionTimeout=10000"});
    EXPECT_THAT(found_on(server.url()),
                ElementsAre("zookeeper.few_servers", "zookeeper.short_sessions"));
}

}  // namespace
}  // namespace holdfast::test
