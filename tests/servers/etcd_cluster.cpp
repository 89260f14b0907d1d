#include "servers/etcd_cluster.hpp"

#include <sstream>
#include <stdexcept>

namespace holdfast::test {

namespace {

std::string peer_url(int port) {
    return "http://127.0.0.1:" + std::to_string(port);
}

}  // namespace

EtcdMembership EtcdPeers::membership_of(std::size_t index) const {
    std::string all;
    for (std::size_t other = 0; other < ports_.size(); ++other) {
        all +=
            (all.empty() ? "" : ",") + name_of(other) + "=" + peer_url(ports_.at(other).advertised);
    }
    return {.name = name_of(index),
            .listened_port = ports_.at(index).listened.number(),
            .advertised_port = ports_.at(index).advertised,
            .cluster = all};
}

/// Members reach one by one port, which is part of its identity, but say who they are: each request
/// of theirs, but for a mere probe, names the sender's own.
std::optional<std::size_t> EtcdPeers::sender_of(const std::string& greeting) const {
    for (std::size_t index = 0; index < ports_.size(); ++index) {
        const std::string header = "X-Peerurls: " + peer_url(ports_.at(index).advertised) + "\r\n";
        if (greeting.find(header) != std::string::npos) return index;
    }
    return std::nullopt;
}

EtcdCluster::EtcdCluster(EtcdOptions options)
    : Cluster([this](const auto&, const std::string& greeting) { return sender_of(greeting); }) {
    for (std::size_t index = 0; index < size; ++index) {
        Ports& own = ports_.at(index);
        own.advertised = network_.open({.to = index, .target = own.listened.number()});
    }
    start([&](std::size_t index) {
        options.membership = membership_of(index);
        return options;
    });
}

void EtcdCluster::remove(const EtcdServer& member) {
    const std::string name = name_of(index_of(member));
    EtcdServer& other =
        await_one("serves", [&](const EtcdServer& one) { return &one != &member && one.serves(); });
    std::istringstream lines(other.ctl({"member", "list"}));
    // "ID, status, name, peers, clients, whether it learns"
    for (std::string line; std::getline(lines, line);) {
        if (line.find(", " + name + ",") == std::string::npos) continue;
        static_cast<void>(other.ctl({"member", "remove", line.substr(0, line.find(','))}));
        return;
    }
    throw std::runtime_error("the cluster does not know " + name);
}

}  // namespace holdfast::test
