#include "servers/zookeeper_ensemble.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "support/await.hpp"

namespace holdfast::test {

namespace {

std::string address(int port) {
    return "127.0.0.1:" + std::to_string(port);
}

}  // namespace

ZookeeperEnsemble::ZookeeperEnsemble(const ZookeeperOptions& options)
    : network_(size,
               [this](const auto& way, std::string& greeting) { return greet(way, greeting); }) {
    connect_peers();
    for (std::size_t index = 0; index < size; ++index) {
        members_.push_back(std::make_unique<ZookeeperServer>(options_of(index, options)));
    }
    await_whole();
}

void ZookeeperEnsemble::connect_peers() {
    for (std::size_t from = 0; from < size; ++from) {
        for (std::size_t to = 0; to < size; ++to) {
            const int quorum = ports_.at(to).quorum.number();
            const int election = ports_.at(to).election.number();
            const auto way = [&](int target) {
                return from == to ? target
                                  : network_.open({.from = from, .to = to, .target = target});
            };
            peer_ports_.at(from).at(to) = {.quorum = way(quorum), .election = way(election)};
        }
    }
}

/// Who connects for an election says where it can be reached itself, and would be called back
/// there, where nothing can be cut.
std::optional<std::size_t> ZookeeperEnsemble::greet(const PeerNetwork::Way& way,
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

std::string ZookeeperEnsemble::line_of(std::size_t index, PeerPorts ports) {
    return "server." + std::to_string(index + 1) + "=127.0.0.1:" + std::to_string(ports.quorum) +
           ":" + std::to_string(ports.election);
}

ZookeeperOptions ZookeeperEnsemble::options_of(std::size_t index, ZookeeperOptions options) const {
    std::vector<std::string> settings = {"initLimit=6", "syncLimit=4", "cnxTimeout=500",
                                         "fastleader.minNotificationInterval=50",
                                         "fastleader.maxNotificationInterval=500"};
    for (std::size_t other = 0; other < size; ++other) {
        settings.push_back(line_of(other, peer_ports_.at(index).at(other)));
    }
    options.settings.insert(options.settings.begin(), settings.begin(), settings.end());
    options.id = static_cast<int>(index) + 1;
    return options;
}

std::string ZookeeperEnsemble::url() const {
    std::string all;
    for (const auto& member : members_) all += (all.empty() ? "" : ",") + member->address();
    return "zookeeper://" + all;
}

ZookeeperServer* ZookeeperEnsemble::one_that_is(const std::string& mode) const {
    for (std::size_t index = 0; index < size; ++index) {
        if (!cut_.at(index) && members_[index]->mode() == mode) return members_[index].get();
    }
    return nullptr;
}

ZookeeperServer& ZookeeperEnsemble::await_one_that_is(const std::string& mode) const {
    ZookeeperServer* found = nullptr;
    if (!await([&] { return (found = one_that_is(mode)) != nullptr; })) {
        throw std::runtime_error("no member of the ensemble is a " + mode);
    }
    return *found;
}

std::size_t ZookeeperEnsemble::index_of(const ZookeeperServer& member) const {
    const auto found = std::ranges::find(members_, &member, &std::unique_ptr<ZookeeperServer>::get);
    return static_cast<std::size_t>(found - members_.begin());
}

void ZookeeperEnsemble::cut(const ZookeeperServer& member) {
    const std::size_t index = index_of(member);
    cut_.at(index) = true;
    network_.cut(index);
}

void ZookeeperEnsemble::abandon(const ZookeeperServer& member) {
    const std::size_t index = index_of(member);
    cut_.at(index) = true;
    network_.abandon(index);
}

void ZookeeperEnsemble::heal() {
    cut_ = {};
    network_.heal();
}

void ZookeeperEnsemble::await_whole() {
    static_cast<void>(leader());
    for (const auto& member : members_) {
        if (member->runs()) member->await_serving();
    }
}

}  // namespace holdfast::test
