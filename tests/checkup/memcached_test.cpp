#include "checkup/examined.hpp"
#include "servers/memcached_server.hpp"

namespace holdfast::test {
namespace {

TEST(CheckedMemcached, IsAlwaysFoundToBeBestEffortAndIsLeftEmpty) {
    const MemcachedServer server;
    const Checkup checkup = check_up(server.url());
    ASSERT_EQ(checkup.findings.size(), 1U);
    EXPECT_EQ(checkup.findings.front().name, "memcached.best_effort");
    EXPECT_FALSE(checkup.is_safe());
    EXPECT_GT(checkup.pair.count, 0U);
    EXPECT_GT(checkup.hand_off.count, 0U);
    EXPECT_EQ(server.stat("curr_items"), 0U);
}

}  // namespace
}  // namespace holdfast::test
