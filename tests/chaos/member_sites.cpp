#include "chaos/fault_table.hpp"
#include "servers/etcd_cluster.hpp"
#include "servers/zookeeper_ensemble.hpp"

/// Three servers whose answers are a majority's.
namespace holdfast::chaos {

namespace {

template <class Servers>
class Members final : public Site {
public:
    explicit Members(const std::string& store) : table_(store) {}

    std::string url() const override { return servers_.url() + "?request_timeout=2s"; }
    void settle() override { servers_.await_whole(); }
    Excused excuse_of_hands() const override { return table_.excused(ended_by_hand); }

    /// One member at a time: there is a majority, or soon will be.
    std::vector<Fault> faults() override {
        const auto heal = [](auto& servers, auto&) { servers.heal(); };
        return {one_of_them(
                    "a member is killed", [](auto&, auto& member) { member.kill(); },
                    [](auto&, auto& member) { member.start(); }),
                one_of_them(
                    "a member stands still", [](auto&, auto& member) { member.pause(); },
                    [](auto&, auto& member) { member.resume(); }),
                one_of_them(
                    "a member is cut off, silently",
                    [](auto& servers, auto& member) { servers.cut(member); }, heal),
                one_of_them(
                    "a member is cut off, and the others are told",
                    [](auto& servers, auto& member) { servers.abandon(member); }, heal)};
    }

private:
    template <class Begin, class End>
    Fault one_of_them(std::string name, Begin begin, End end) {
        return {.name = std::move(name),
                .begin =
                    [this, begin, end](Random& random) {
                        auto& member = servers_.member(random() % Servers::size);
                        begin(servers_, member);
                        return [this, end, &member] { end(servers_, member); };
                    },
                .alone = true};
    }

    const FaultTable table_;
    Servers servers_;
};

template <class Servers>
SiteEntry members(const std::string& store) {
    return {store, [store] { return std::make_unique<Members<Servers>>(store); }};
}

}  // namespace

std::vector<SiteEntry> member_sites() {
    return {
#ifdef HOLDFAST_STORE_ZOOKEEPER
        members<test::ZookeeperEnsemble>("zookeeper"),
#endif
#ifdef HOLDFAST_STORE_ETCD
        members<test::EtcdCluster>("etcd"),
#endif
    };
}

}  // namespace holdfast::chaos
