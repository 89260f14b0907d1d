#include "checkup/examined.hpp"
#include "servers/etcd_cluster.hpp"
#include "servers/etcd_server.hpp"

namespace holdfast::test {
namespace {

TEST(CheckedEtcd, OfThreeIsWellAndNothingStays) {
    EtcdCluster cluster;
    const Checkup checkup = expect_well(cluster.url());
    EXPECT_FALSE(checkup.clock_ahead) << "leases are counted without one";
    EXPECT_EQ(cluster.leader().ctl({"get", "", "--prefix", "--keys-only"}), "");
    EXPECT_THAT(found_on(cluster.member(0).url()), ElementsAre("etcd.unnamed_members"));
}

TEST(CheckedEtcd, IsFoundToBeAloneAndFull) {
    const EtcdServer server({.flags = {"--quota-backend-bytes=2000000"}});
    EXPECT_THAT(found_on(server.url()), ElementsAre("etcd.few_members"));
    const std::string value(100'000, 'x');
    Names found;
    int puts = 0;
    const auto put_until = [&](const std::string& what) {
        while (puts < 60 && !found.contains(what)) {
            try {
                server.ctl({"put", "others/" + std::to_string(++puts), value});
            } catch (const std::exception&) {
                // That was too much.
            }
            found = found_on(server.url());
        }
    };
    put_until("etcd.nearly_full");
    EXPECT_THAT(found, Contains("etcd.nearly_full"));
    put_until("etcd.full");
    EXPECT_THAT(found, ElementsAre("etcd.few_members", "etcd.full", "etcd.nearly_full"));
}

}  // namespace
}  // namespace holdfast::test
