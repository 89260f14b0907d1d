#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "servers/etcd_server.hpp"
#include "servers/peer_network.hpp"
#include "support/loopback.hpp"

namespace holdfast::test {

/// Three real etcd members. One leads when the constructor returns, and all serve.
///
/// A leader that hears of no majority for an election's 600 ms gives up; so long does it take
/// itself for the leader, and answers what is not linearizable.
class EtcdCluster {
public:
    static constexpr std::size_t size = 3;

    /// The options are every member's; `membership` is not heeded.
    explicit EtcdCluster(const EtcdOptions& options = {});

    /// "etcd://h1,h2,h3"
    std::string url() const;
    EtcdServer& member(std::size_t index) { return *members_.at(index); }

    /// Deletes all keys.
    void clear() { leader().clear(); }

    /// The one that leads now, or as soon as one does: of those that are not cut off. A leader that
    /// was just paused or killed is not it.
    EtcdServer& leader();
    /// One of those that serve now and do not lead, in the same way.
    EtcdServer& follower();

    /// No more passes between this member and the other two, and none of them is told; clients
    /// reach it still.
    void cut(const EtcdServer& member);
    /// All reach each other again.
    void heal();
    /// Until one leads, and all that run serve. Nobody may be cut off or paused.
    void await_whole();
    /// Takes the member out of the cluster for good, as an administrator would.
    void remove(const EtcdServer& member);

private:
    struct Ports {
        LoopbackPort listened;
        std::atomic<int> advertised = 0;
    };

    static std::string name_of(std::size_t index) { return "member" + std::to_string(index); }
    std::size_t index_of(const EtcdServer& member) const;
    EtcdOptions options_of(std::size_t index, EtcdOptions options) const;
    std::optional<std::size_t> sender_of(const std::string& greeting) const;
    template <class Condition>
    EtcdServer& await_one(Condition condition, const std::string& what) const;

    std::array<Ports, size> ports_;
    PeerNetwork network_;
    std::vector<std::unique_ptr<EtcdServer>> members_;
    std::array<bool, size> cut_{};
};

}  // namespace holdfast::test
