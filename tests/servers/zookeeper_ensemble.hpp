#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "servers/cluster.hpp"
#include "servers/zookeeper_server.hpp"

namespace holdfast::test {

/// Where the members of an ensemble reach each other. Made before the network that asks it.
class ZookeeperPeers {
protected:
    void connect_by(PeerNetwork& network);
    /// The lines of zoo.cfg that tell one of the others.
    std::vector<std::string> settings_of(std::size_t index) const;
    std::optional<std::size_t> greet(const PeerNetwork::Way& way, std::string& greeting) const;

private:
    static constexpr std::size_t size = Cluster<ZookeeperServer>::size;
    struct Ports {
        LoopbackPort quorum;
        LoopbackPort election;
    };
    /// By which a member is to reach another; for itself those that it listens on.
    struct PeerPorts {
        int quorum = 0;
        int election = 0;
    };

    std::array<Ports, size> ports_;
    std::array<std::array<PeerPorts, size>, size> peer_ports_;  ///< from, to
};

/// Three real ZooKeeper nodes.
///
/// A member gives up its leader, or a leader its majority, after 2 s without hearing of it
/// ("syncLimit=N" ticks of 500 ms, among the settings): so long does one that is cut off answer
/// what it can by itself.
class ZookeeperEnsemble : ZookeeperPeers, public Cluster<ZookeeperServer> {
public:
    using Cluster::size;

    /// The options are every member's; `id` is not heeded.
    explicit ZookeeperEnsemble(const ZookeeperOptions& options = {});
};

}  // namespace holdfast::test
