#include "servers/zookeeper_ensemble.hpp"

namespace holdfast::test {

namespace {

std::string address(int port) {
    return "127.0.0.1:" + std::to_string(port);
}

}  // namespace

void ZookeeperPeers::connect_by(PeerNetwork& network) {
    for (std::size_t from = 0; from < size; ++from) {
        for (std::size_t to = 0; to < size; ++to) {
            const auto way = [&](const LoopbackPort& port) {
                const int target = port.number();
                return from == to ? target
                                  : network.open({.from = from, .to = to, .target = target});
            };
            peer_ports_.at(from).at(to) = {.quorum = way(ports_.at(to).quorum),
                                           .election = way(ports_.at(to).election)};
        }
    }
}

/// Who connects for an election says where it can be reached itself, and would be called back
/// there, where nothing can be cut.
std::optional<std::size_t> ZookeeperPeers::greet(const PeerNetwork::Way& way,
                                                 std::string& greeting) const {
    const std::size_t from = *way.from;
    const std::string own = address(ports_.at(from).election.number());
    const auto found = greeting.find(own);
    if (way.target != ports_.at(way.to).election.number() || found == std::string::npos) {
        return from;
    }
    const std::string told = address(peer_ports_.at(way.to).at(from).election);
    greeting.replace(found, own.size(), told);
    // Before it stands its length, of which only the last byte is not nought.
    greeting[found - 1] = static_cast<char>(told.size());
    return from;
}

std::vector<std::string> ZookeeperPeers::settings_of(std::size_t index) const {
    std::vector<std::string> lines = {"initLimit=6", "syncLimit=4", "cnxTimeout=500",
                                      "fastleader.minNotificationInterval=50",
                                      "fastleader.maxNotificationInterval=500"};
    for (std::size_t other = 0; other < size; ++other) {
        const PeerPorts ports = peer_ports_.at(index).at(other);
        lines.push_back("server." + std::to_string(other + 1) + "=" + address(ports.quorum) + ":" +
                        std::to_string(ports.election));
    }
    return lines;
}

ZookeeperEnsemble::ZookeeperEnsemble(const ZookeeperOptions& options)
    : Cluster([this](const auto& way, std::string& greeting) { return greet(way, greeting); }) {
    connect_by(network_);
    start([&](std::size_t index) {
        ZookeeperOptions own = options;
        const auto lines = settings_of(index);
        own.settings.insert(own.settings.begin(), lines.begin(), lines.end());
        own.id = static_cast<int>(index) + 1;
        return own;
    });
}

}  // namespace holdfast::test
