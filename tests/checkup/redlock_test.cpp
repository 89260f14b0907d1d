#include <fstream>

#include <holdfast/upkeep.hpp>

#include "checkup/examined.hpp"
#include "servers/redis_nodes.hpp"
#include "support/temporary_folder.hpp"

namespace holdfast::test {
namespace {

TEST(CheckedRedlock, IsWellOnThreeNodesThatPersistNothing) {
    const RedisNodes nodes(3);
    expect_well(nodes.url());
}

TEST(CheckedRedlock, FindsANodeThatIsAwayAndOneThatEvicts) {
    RedisNodes nodes(3);
    nodes.node(2).kill();
    nodes.node(1).command({"CONFIG", "SET", "maxmemory", "100mb"});
    nodes.node(1).command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
    EXPECT_THAT(found_on(nodes.url("?request_timeout=1s")),
                ElementsAre("redis.evicts", "redlock.node_away"));
}

TEST(CheckedRedlock, FindsClocksThatDiffer) {
    const TemporaryFolder folder;
    const auto clock = folder.path() / "ahead";
    std::ofstream(clock) << 5;
    const RedisServer first;
    const RedisServer second;
    const RedisServer ahead({.under = {"env", "LD_PRELOAD=" HOLDFAST_TEST_WRONG_CLOCK,
                                       "HOLDFAST_TEST_CLOCK=" + clock.string()}});
    const std::string url = RedisNodes::url_at({first.port(), second.port(), ahead.port()});
    EXPECT_THAT(found_on(url), ElementsAre("redlock.clocks"));
}

}  // namespace
}  // namespace holdfast::test
