#include "servers/zookeeper_server.hpp"
#include "support/suite.hpp"

namespace holdfast::test {
namespace {

TEST(ZookeeperServer, ServesWhenItIsThere) {
    ZookeeperServer server;
    EXPECT_EQ(server.mode(), "standalone");
    EXPECT_EQ(server.ask("ruok"), "imok");
    EXPECT_EQ(server.measured("ephemerals_count"), 0);
    EXPECT_THROW(static_cast<void>(server.measured("nonsense")), std::runtime_error);
    EXPECT_EQ(server.url(), "zookeeper://" + server.address());
    server.kill();
    EXPECT_EQ(server.mode(), "");
    EXPECT_THROW(static_cast<void>(server.ask("ruok")), std::runtime_error);
}

TEST(ZookeeperServer, ASettingIsHeeded) {
    const ZookeeperServer server({.settings = {"maxSessionTimeout=2000", "tickTime=300"}});
    const std::string configuration = server.ask("conf");
    EXPECT_NE(configuration.find("maxSessionTimeout=2000\n"), std::string::npos);
    EXPECT_NE(configuration.find("tickTime=300\n"), std::string::npos);
}

TEST(ZookeeperServer, AWrongSettingIsNamed) {
    try {
        const ZookeeperServer server({.settings = {"tickTime=often"}});
        FAIL() << "started";
    } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find("often"), std::string::npos);
    }
}

TEST(ZookeeperServer, HowOftenContainersAreReapedIsHeeded) {
    const ZookeeperServer server({.reaps_every = 70ms});
    const auto said = [&] { return server.log().find("checkIntervalMs=70 ") != std::string::npos; };
    EXPECT_TRUE(await(said)) << server.log();
}

}  // namespace
}  // namespace holdfast::test
