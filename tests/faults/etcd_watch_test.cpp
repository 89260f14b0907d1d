#include <atomic>

#include "faults/etcd_faults.hpp"
#include "port/store_url.hpp"
#include "stores/etcd/etcd_wire.hpp"

/// Keys that several contenders of one client watch.
namespace holdfast::test {
namespace {

using etcd::EtcdWire;
using etcd::Watches;

class Heard final : public Watches::Listener {
public:
    void stirred(const std::string&, listed::NodeEvent) override { ++stirs; }
    void look_again(const std::string&, std::int64_t since) override { unknown_since = since; }
    std::atomic<int> stirs{0};
    std::atomic<std::int64_t> unknown_since{0};
};

class EtcdWatch : public EtcdFaults {};

TEST_F(EtcdWatch, OfOneWhoSawTheKeyEarlierThanOthersLooksAgainForIt) {
    constexpr std::int64_t earlier = 1;
    constexpr std::int64_t later = std::int64_t{1} << 40;
    const std::string key = prefix() + "orders/1-0";
    server_.ctl({"put", key, "another one's by now"});
    EtcdWire wire(etcd::cluster_of(parse_store_url(server_.url())));
    const auto heard = std::make_shared<Heard>();
    wire.listen(heard);
    const Wire::Interest serves = wire.interest();
    wire.watch(key, Watches::Events::end, later);
    wire.watch(key, Watches::Events::end, earlier);
    EXPECT_TRUE(await([&] { return heard->unknown_since == earlier; }, 5s));
    server_.ctl({"del", key});
    EXPECT_TRUE(await([&] { return heard->stirs == 1; }, 5s)) << "it is watched still";
}

}  // namespace
}  // namespace holdfast::test
