#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/loopback.hpp"
#include "support/proxied_connection.hpp"

namespace holdfast::test {

/// A bad network between clients and a server on loopback, of Redis unless another is said.
///
/// Each control is in force when it returns, for the connections there are and for new ones, until
/// pass(). They can be combined. On a connection with TLS there are no requests and replies to be
/// seen: drop_replies, garbage, lose_pushes, on_request and the count of requests leave it alone.
class FaultProxy {
public:
    static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

    explicit FaultProxy(int server_port, MakeProtocol protocol = redis_protocol);
    ~FaultProxy();
    FaultProxy(const FaultProxy&) = delete;
    FaultProxy& operator=(const FaultProxy&) = delete;

    int port() const { return port_.number(); }
    std::string url() const { return "redis://127.0.0.1:" + std::to_string(port()); }

    /// Everything passes again, what was held back first; new connections are taken; the hook is
    /// asked no more.
    void pass();

    /// The next `count` requests reach the server, but their replies are swallowed; when the server
    /// has answered all that it got on a connection, that is cut.
    void drop_replies(std::size_t count = all);
    /// Requests are kept back and reach the server when they are let pass, also when the client has
    /// closed its connection meanwhile, or cut() has.
    void hold_requests();
    /// Lets pass what is held back, be it by hold_requests() or by a Verdict; the hook is not asked
    /// again about the latter.
    void let_pass();
    /// Each reply is on its way for so long.
    void delay_replies(std::chrono::milliseconds delay);
    /// What the server says without being asked (messages of channels, invalidations) is lost.
    void lose_pushes();
    /// The client gets these bytes for the reply to the next request, once.
    void garbage(std::string bytes);
    /// Nothing passes in any direction, and nobody is told. New connections are taken, silently.
    /// Afterwards everything arrives late, as by TCP.
    void black_hole();
    /// No more connections are taken; those that there are stay.
    void refuse();

    /// Ends all present connections.
    void cut(Ending ending = Ending::fin);
    /// The clients of all present connections are told that the server says no more; what they send
    /// still reaches it.
    void half_close();

    /// Asked about each request when its turn has come to be passed on, on the proxy's own thread;
    /// may use the controls. After black_hole() in it, a request that passes is the last one to
    /// reach the server.
    void on_request(RequestHook hook);
    /// The server gets what this makes of each request, until pass().
    void rewrite_requests(RequestRewriter rewriter);

    /// Since the start.
    std::size_t connections() const { return counts_.connections; }
    std::size_t requests() const { return counts_.requests; }  ///< complete ones, held back or not
    /// Of the server, to what was held back and let pass, whether anybody is there to hear them.
    std::size_t late_replies() const { return counts_.late_replies; }
    std::size_t bytes_from_clients() const { return counts_.bytes_from_clients; }
    std::size_t bytes_from_server() const { return counts_.bytes_from_server; }
    /// Whether that many have come, in time.
    [[nodiscard]] bool await_connections(std::size_t count) const;
    [[nodiscard]] bool await_requests(std::size_t count) const;

private:
    /// What a test wants done on the proxy's thread, which alone touches the connections.
    struct Order {
        std::function<void()> work;
        std::promise<void> done;
    };

    void order(std::function<void()> work);
    void run();
    std::vector<pollfd> wait() const;
    std::vector<Order> take_orders();
    void take_new_connections();
    void read_where(const std::vector<pollfd>& polled);
    void ring() const;

    const int server_port_;
    const MakeProtocol protocol_;
    LoopbackPort port_;
    Socket bell_;
    ProxyCounts counts_;

    std::mutex mutex_;
    std::vector<Order> orders_;

    // The proxy's thread's own.
    Socket listener_;
    ProxyRules rules_;
    std::list<ProxiedConnection> connections_;
    bool ends_ = false;

    std::thread thread_;
};

}  // namespace holdfast::test
