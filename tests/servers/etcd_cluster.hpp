#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <string>

#include "servers/cluster.hpp"
#include "servers/etcd_server.hpp"

namespace holdfast::test {

/// Where the members of a cluster reach each other. Made before the network that asks it.
class EtcdPeers {
protected:
    static std::string name_of(std::size_t index) { return "member" + std::to_string(index); }
    EtcdMembership membership_of(std::size_t index) const;
    std::optional<std::size_t> sender_of(const std::string& greeting) const;

    struct Ports {
        LoopbackPort listened;
        std::atomic<int> advertised = 0;
    };
    std::array<Ports, Cluster<EtcdServer>::size> ports_;
};

/// Three real etcd members.
///
/// A leader that hears of no majority for an election's 600 ms gives up; so long does it take
/// itself for the leader, and answers what is not linearizable.
class EtcdCluster : EtcdPeers, public Cluster<EtcdServer> {
public:
    /// The options are every member's; `membership` is not heeded.
    explicit EtcdCluster(EtcdOptions options = {});

    /// Deletes all keys.
    void clear() { leader().clear(); }
    /// Takes the member out of the cluster for good, as an administrator would.
    void remove(const EtcdServer& member);
};

}  // namespace holdfast::test
