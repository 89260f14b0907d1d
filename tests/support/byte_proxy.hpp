#pragma once

#include <atomic>
#include <list>
#include <string_view>
#include <thread>

#include "support/loopback.hpp"

namespace holdfast::test {

/// Passes bytes between clients and a server on loopback, of whatever protocol, and can make TLS
/// handshakes fail, into which a FaultProxy does not look.
class ByteProxy {
public:
    explicit ByteProxy(int server_port);
    ~ByteProxy();
    ByteProxy(const ByteProxy&) = delete;
    ByteProxy& operator=(const ByteProxy&) = delete;

    int port() const { return port_.number(); }

    /// Of the next so many connections, the TLS handshake is answered by a reset.
    void reset_handshakes(int count) { handshakes_to_reset_ = count; }
    int handshakes_to_reset() const { return handshakes_to_reset_; }
    /// Of connections that come from now on, nothing passes but what the server says: so they stand
    /// still in the middle of the TLS handshake.
    void stall() { stalls_ = true; }
    int stalled() const { return stalled_; }

    /// How many requests have passed, at one go each.
    int requests() const { return requests_; }

private:
    struct Pair {
        Socket client;
        Socket server;
        bool stalls;
    };

    void run();
    void take_new();
    bool carry(const Socket& from, const Socket& to);
    bool resets(const Socket& client, std::string_view text);

    const int server_port_;
    LoopbackPort port_;
    Socket listener_;
    std::list<Pair> pairs_;  ///< the thread's own
    std::atomic<int> requests_{0};
    std::atomic<int> handshakes_to_reset_{0};
    std::atomic<bool> stalls_{false};
    std::atomic<int> stalled_{0};
    std::atomic<bool> ends_{false};
    std::thread thread_;
};

}  // namespace holdfast::test
