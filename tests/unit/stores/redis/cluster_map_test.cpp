#include "stores/redis/cluster_map.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace holdfast::redis {
namespace {

Reply text(std::string said) {
    return {.kind = Reply::Kind::text, .text = std::move(said)};
}
Reply number(std::int64_t value) {
    return {.kind = Reply::Kind::integer, .integer = value};
}
Reply array(std::vector<Reply> elements) {
    return {.kind = Reply::Kind::array, .elements = std::move(elements)};
}
Reply node(const std::string& host, std::int64_t port, const std::string& id) {
    return array({text(host), number(port), text(id), array({})});
}

const Reply info = text("cluster_state:ok\r\ncluster_current_epoch:9\r\ncluster_my_epoch:3\r\n");
const Reply nodes = text(
    "aa 10.0.0.1:7000@17000 myself,master - 0 0 7 connected 0-99\n"
    "bb 10.0.0.2:7000@17000 slave aa 0 0 3 connected\n");

TEST(AClusterMap, SaysWhoHasWhichSlotsByWhichEpoch) {
    const Reply slots = array({array(
        {number(0), number(99), node("10.0.0.1", 7000, "aa"), node("10.0.0.2", 7000, "bb")})});
    const auto map = cluster_map_in(std::vector{info, slots, nodes}, "asked");
    ASSERT_TRUE(map);
    EXPECT_EQ(map->epoch, 9U);
    ASSERT_EQ(map->rows.size(), 1U);
    const auto& row = map->rows[0];
    EXPECT_EQ(row.first, 0);
    EXPECT_EQ(row.last, 99);
    EXPECT_EQ(row.master, (Host{"10.0.0.1", 7000}));
    EXPECT_EQ(row.epoch, 7U);
    EXPECT_EQ(row.replicas, (std::vector<Host>{{"10.0.0.2", 7000}}));
}

TEST(AClusterMap, HasUnknownHostsWhereItWasAskedFor) {
    const Reply slots = array({array({number(5), number(5), node("", 7000, "aa")}),
                               array({number(6), number(6), node("?", 7001, "aa")})});
    const auto map = cluster_map_in(std::vector{info, slots, nodes}, "asked");
    ASSERT_EQ(map->rows.size(), 2U);
    EXPECT_EQ(map->rows[0].master, (Host{"asked", 7000}));
    EXPECT_EQ(map->rows[1].master, (Host{"asked", 7001}));
}

TEST(AClusterMap, HasUnknownEpochsWhereTheUserMayNotAskForThem) {
    const Reply slots = array({array({number(0), number(99), node("10.0.0.1", 7000, "aa")})});
    const Reply refused{.kind = Reply::Kind::error, .text = "NOPERM this user may not"};
    const auto map = cluster_map_in(std::vector{info, slots, refused}, "asked");
    ASSERT_EQ(map->rows.size(), 1U);
    EXPECT_EQ(map->rows[0].epoch, 0U);
}

TEST(AClusterMap, LeavesOutWhatIsNone) {
    const Reply master = node("10.0.0.1", 7000, "aa");
    const Reply slots =
        array({array({number(-1), number(5), master}), array({number(7), number(5), master}),
               array({number(0), number(16384), master}), array({number(0), number(5)}),
               array({number(0), number(5), array({text("10.0.0.1")})}), text("0-5"), number(3)});
    const Reply garbage = text("aa\n\n bb 1 2 3 4 5 many\n");
    const auto map = cluster_map_in(std::vector{info, slots, garbage}, "asked");
    ASSERT_TRUE(map);
    EXPECT_TRUE(map->rows.empty());
}

TEST(AClusterMap, IsNotHadOfWhoIsInNoCluster) {
    const Reply error{.kind = Reply::Kind::error,
                      .text = "ERR This instance has cluster support disabled"};
    EXPECT_FALSE(cluster_map_in(std::vector{error, error, error}, "asked"));
    EXPECT_FALSE(cluster_map_in(std::vector{text("cluster_current_epoch:"), array({}), nodes}, ""));
}

}  // namespace
}  // namespace holdfast::redis
