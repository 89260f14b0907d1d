#include "servers/etcd_cluster.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "support/await.hpp"

namespace holdfast::test {

namespace {

std::string peer_url(int port) {
    return "http://127.0.0.1:" + std::to_string(port);
}

}  // namespace

EtcdCluster::EtcdCluster(const EtcdOptions& options)
    : network_(size,
               [this](const auto&, const std::string& greeting) { return sender_of(greeting); }) {
    for (std::size_t index = 0; index < size; ++index) {
        Ports& own = ports_.at(index);
        own.advertised = network_.open({.to = index, .target = own.listened.number()});
    }
    for (std::size_t index = 0; index < size; ++index) {
        members_.push_back(std::make_unique<EtcdServer>(options_of(index, options)));
    }
    await_whole();
}

EtcdOptions EtcdCluster::options_of(std::size_t index, EtcdOptions options) const {
    std::string all;
    for (std::size_t other = 0; other < size; ++other) {
        all +=
            (all.empty() ? "" : ",") + name_of(other) + "=" + peer_url(ports_.at(other).advertised);
    }
    options.membership = {.name = name_of(index),
                          .listened_port = ports_.at(index).listened.number(),
                          .advertised_port = ports_.at(index).advertised,
                          .cluster = all};
    return options;
}

/// Members reach one by one port, which is part of its identity, but say who they are: each request
/// of theirs, but for a mere probe, names the sender's own.
std::optional<std::size_t> EtcdCluster::sender_of(const std::string& greeting) const {
    for (std::size_t index = 0; index < size; ++index) {
        const std::string header = "X-Peerurls: " + peer_url(ports_.at(index).advertised) + "\r\n";
        if (greeting.find(header) != std::string::npos) return index;
    }
    return std::nullopt;
}

std::string EtcdCluster::url() const {
    std::string all;
    for (const auto& member : members_) all += (all.empty() ? "" : ",") + member->address();
    return "etcd://" + all;
}

template <class Condition>
EtcdServer& EtcdCluster::await_one(Condition condition, const std::string& what) const {
    EtcdServer* found = nullptr;
    const bool is_there = await([&] {
        for (std::size_t index = 0; index < size && found == nullptr; ++index) {
            if (!cut_.at(index) && condition(*members_[index])) found = members_[index].get();
        }
        return found != nullptr;
    });
    if (!is_there) throw std::runtime_error("no member of the cluster " + what);
    return *found;
}

EtcdServer& EtcdCluster::leader() {
    return await_one([](const EtcdServer& member) { return member.leads(); }, "leads");
}

EtcdServer& EtcdCluster::follower() {
    return await_one([](const EtcdServer& member) { return member.serves() && !member.leads(); },
                     "follows");
}

std::size_t EtcdCluster::index_of(const EtcdServer& member) const {
    const auto found = std::ranges::find(members_, &member, &std::unique_ptr<EtcdServer>::get);
    return static_cast<std::size_t>(found - members_.begin());
}

void EtcdCluster::cut(const EtcdServer& member) {
    const std::size_t index = index_of(member);
    cut_.at(index) = true;
    network_.cut(index);
}

void EtcdCluster::heal() {
    cut_ = {};
    network_.heal();
}

void EtcdCluster::await_whole() {
    static_cast<void>(leader());
    for (const auto& member : members_) {
        if (member->runs()) member->await_serving();
    }
}

void EtcdCluster::remove(const EtcdServer& member) {
    const std::string name = name_of(index_of(member));
    EtcdServer& other =
        await_one([&](const EtcdServer& one) { return &one != &member && one.serves(); }, "serves");
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
