#pragma once

#include <poll.h>

#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/loopback.hpp"

namespace holdfast::test {

/// Two ports of a member of an ensemble, on which its peers reach it.
struct PeerPorts {
    int quorum = 0;
    int election = 0;
};

/// The network between the members of a ZooKeeper ensemble. Each reaches each other by ports of
/// their own two, behind which this passes bytes on, so that one can be cut off from all others
/// while clients reach it still.
class PeerNetwork {
public:
    /// `members`: where each listens.
    explicit PeerNetwork(std::vector<PeerPorts> members);
    ~PeerNetwork();
    PeerNetwork(const PeerNetwork&) = delete;
    PeerNetwork& operator=(const PeerNetwork&) = delete;

    /// By which ports member `from` is to reach member `to`; for itself those that it listens on.
    PeerPorts ports(std::size_t from, std::size_t to) const;

    /// Nothing passes between the member and its peers any more, and nobody is told: connections
    /// stay, and new ones are taken silently. In force when it returns.
    void cut(std::size_t member);
    /// All reach each other again. What was on its way arrives late, as by TCP.
    void heal();

private:
    /// One direction of a connection.
    struct Flow {
        std::string bytes = {};  ///< read, but not yet passed on
        bool ended = false;      ///< no more comes
        bool told = false;       ///< and the receiver knows
    };
    struct Connection {
        Socket client;
        Socket server;
        Flow request = {};
        Flow reply = {};
        bool has_greeted = false;
    };
    /// From one member to one port of another.
    struct Link {
        std::size_t from = 0;
        std::size_t to = 0;
        int target = 0;
        /// What a member says of itself when it connects, and what its peer is to hear.
        std::string own_address = {};
        std::string address_to_tell = {};
        LoopbackPort port = {};
        Socket listener = {};
        std::list<Connection> connections = {};
    };

    void add_link(std::size_t from, std::size_t to, int target);
    int port_of_link(std::size_t from, std::size_t to, int target) const;
    bool is_cut(const Link& link) const { return cut_[link.from] || cut_[link.to]; }
    void run();
    void wait();
    std::vector<pollfd> awaited();
    void serve(Link& link);
    static void pass_on(const Link& link, Connection& connection);
    static void greet(const Link& link, Connection& connection);
    void ring() const;

    const std::vector<PeerPorts> members_;
    std::list<Link> links_;
    Socket bell_;

    std::mutex mutex_;  ///< of what follows, and held while bytes are passed on
    std::vector<bool> cut_;
    bool ends_ = false;

    std::thread thread_;
};

}  // namespace holdfast::test
