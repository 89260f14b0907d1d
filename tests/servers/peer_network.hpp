#pragma once

#include <poll.h>

#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/loopback.hpp"

namespace holdfast::test {

/// The network between the members of a cluster. Each reaches the others by ports of this, behind
/// which bytes are passed on, so that one can be cut off from all others while clients reach it
/// still.
class PeerNetwork {
public:
    /// A way from one member to a port of another; whose, is told by each connection where nobody
    /// is named.
    struct Way {
        std::optional<std::size_t> from = {};
        std::size_t to = 0;
        int target = 0;
    };
    /// What a connection on this way says first. May change it. Says who made the connection: by
    /// default the one whose way it is.
    using Greeting = std::function<std::optional<std::size_t>(const Way&, std::string&)>;

    explicit PeerNetwork(std::size_t members, Greeting greeting = {});
    ~PeerNetwork();
    PeerNetwork(const PeerNetwork&) = delete;
    PeerNetwork& operator=(const PeerNetwork&) = delete;

    /// The port where the way begins.
    int open(Way way);

    /// Nothing passes between the member and its peers any more, and nobody is told: connections
    /// stay, and new ones are taken silently. In force when it returns.
    void cut(std::size_t member);
    /// As cut(), but its peers are told: their ends of all connections with it are closed. It is
    /// not.
    void abandon(std::size_t member);
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
        std::optional<std::size_t> from = {};
        Flow request = {};
        Flow reply = {};
        bool has_greeted = false;
    };
    struct Link {
        Way way = {};
        LoopbackPort port = {};
        Socket listener = {};
        std::list<Connection> connections = {};
    };

    bool is_cut(std::optional<std::size_t> member) const { return member && cut_[*member]; }
    void run();
    void wait();
    std::vector<pollfd> awaited();
    void serve(Link& link);
    void pass_on(const Way& way, Connection& connection);
    void greet(const Way& way, Connection& connection);
    void ring() const;

    const Greeting greeting_;
    Socket bell_;

    std::mutex mutex_;  ///< of what follows, and held while bytes are passed on
    std::list<Link> links_;
    std::vector<bool> cut_;
    bool ends_ = false;

    std::thread thread_;
};

}  // namespace holdfast::test
