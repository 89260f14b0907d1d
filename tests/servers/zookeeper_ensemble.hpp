#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "servers/peer_network.hpp"
#include "servers/zookeeper_server.hpp"
#include "support/loopback.hpp"

namespace holdfast::test {

/// Three real ZooKeeper nodes that elect a leader among them. One leads when the constructor
/// returns, and the others follow.
///
/// A member gives up its leader, or a leader its majority, after 2 s without hearing of it
/// ("syncLimit=N" ticks of 500 ms, among the settings): so long does one that is cut off answer
/// what it can by itself.
class ZookeeperEnsemble {
public:
    static constexpr std::size_t size = 3;

    /// The options are every member's; `id` is not heeded.
    explicit ZookeeperEnsemble(const ZookeeperOptions& options = {});

    /// "zookeeper://h1,h2,h3"
    std::string url() const;
    ZookeeperServer& member(std::size_t index) { return *members_.at(index); }

    /// The one that leads now, or as soon as one does: of those that are not cut off. A leader that
    /// was just paused or killed is not it.
    ZookeeperServer& leader() { return await_one_that_is("leader"); }
    /// One of those that follow now, in the same way.
    ZookeeperServer& follower() { return await_one_that_is("follower"); }

    /// No more passes between this member and the other two, and none of them is told; clients
    /// reach it still.
    void cut(const ZookeeperServer& member);
    /// As cut(), but the other two are told at once, and elect; this one waits for them.
    void abandon(const ZookeeperServer& member);
    /// All reach each other again.
    void heal();
    /// Until one leads, and all others that run follow it. Nobody may be cut off or paused.
    void await_whole();

private:
    struct Ports {
        LoopbackPort quorum;
        LoopbackPort election;
    };
    /// By which a member is to reach another; for itself those that it listens on.
    struct PeerPorts {
        int quorum = 0;
        int election = 0;
    };

    std::size_t index_of(const ZookeeperServer& member) const;
    void connect_peers();
    std::optional<std::size_t> greet(const PeerNetwork::Way& way, std::string& greeting) const;
    static std::string line_of(std::size_t index, PeerPorts ports);
    ZookeeperOptions options_of(std::size_t index, ZookeeperOptions options) const;
    ZookeeperServer* one_that_is(const std::string& mode) const;
    ZookeeperServer& await_one_that_is(const std::string& mode) const;

    std::array<Ports, size> ports_;
    std::array<std::array<PeerPorts, size>, size> peer_ports_;  ///< from, to
    PeerNetwork network_;
    std::vector<std::unique_ptr<ZookeeperServer>> members_;
    std::array<bool, size> cut_{};
};

}  // namespace holdfast::test
