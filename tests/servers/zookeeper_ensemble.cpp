#include "servers/zookeeper_ensemble.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "support/await.hpp"

namespace holdfast::test {

namespace {

std::string line_of(std::size_t index, PeerPorts ports) {
    return "server." + std::to_string(index + 1) + "=127.0.0.1:" + std::to_string(ports.quorum) +
           ":" + std::to_string(ports.election);
}

}  // namespace

ZookeeperEnsemble::ZookeeperEnsemble(const ZookeeperOptions& options)
    : network_([this] {
          std::vector<PeerPorts> all;
          for (const Ports& each : ports_) {
              all.push_back({.quorum = each.quorum.number(), .election = each.election.number()});
          }
          return all;
      }()) {
    for (std::size_t index = 0; index < size; ++index) {
        members_.push_back(std::make_unique<ZookeeperServer>(options_of(index, options)));
    }
    await_whole();
}

ZookeeperOptions ZookeeperEnsemble::options_of(std::size_t index, ZookeeperOptions options) const {
    std::vector<std::string> settings = {"initLimit=6", "syncLimit=4", "cnxTimeout=500",
                                         "fastleader.minNotificationInterval=50",
                                         "fastleader.maxNotificationInterval=500"};
    for (std::size_t other = 0; other < size; ++other) {
        settings.push_back(line_of(other, network_.ports(index, other)));
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

void ZookeeperEnsemble::cut(const ZookeeperServer& member) {
    const auto found = std::ranges::find(members_, &member, &std::unique_ptr<ZookeeperServer>::get);
    const auto index = static_cast<std::size_t>(found - members_.begin());
    cut_.at(index) = true;
    network_.cut(index);
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
