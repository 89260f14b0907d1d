#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <string_view>
#include <thread>

#include "support/loopback.hpp"

namespace holdfast::test {

/// Passes bytes between clients and a server on loopback, of whatever protocol, until it is told
/// otherwise. Each control is in force for all connections until pass().
class ByteProxy {
public:
    explicit ByteProxy(int server_port);
    ~ByteProxy();
    ByteProxy(const ByteProxy&) = delete;
    ByteProxy& operator=(const ByteProxy&) = delete;

    int port() const { return port_.number(); }

    void pass() { mode_ = Mode::pass; }
    /// What the next answer on any connection is, its client never hears: when it comes, the
    /// connection is cut, and all passes again.
    void lose_next_answer() { mode_ = Mode::lose_next_answer; }
    /// Nothing passes in any direction, and nobody is told.
    void black_hole() { mode_ = Mode::black_hole; }

    /// Of the next so many connections, the TLS handshake is answered by a reset.
    void reset_handshakes(int count) { handshakes_to_reset_ = count; }
    int handshakes_to_reset() const { return handshakes_to_reset_; }

    /// Connections that were taken, requests that passed (at one go each), answers that were lost.
    int connections() const { return connections_; }
    int requests() const { return requests_; }
    int lost() const { return lost_; }

private:
    enum class Mode { pass, lose_next_answer, black_hole };
    struct Pair {
        Socket client;
        Socket server;
    };

    void run();
    void take_new();
    bool carry(const Socket& from, const Socket& to);
    bool resets(const Socket& client, std::string_view text);
    bool carry_answer(Pair& pair);

    const int server_port_;
    LoopbackPort port_;
    Socket listener_;
    std::list<Pair> pairs_;  ///< the thread's own
    std::atomic<Mode> mode_{Mode::pass};
    std::atomic<int> connections_{0};
    std::atomic<int> requests_{0};
    std::atomic<int> lost_{0};
    std::atomic<int> handshakes_to_reset_{0};
    std::atomic<bool> ends_{false};
    std::thread thread_;
};

}  // namespace holdfast::test
