#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "port/clock.hpp"
#include "port/failure.hpp"
#include "stores/net/address.hpp"
#include "stores/net/dial.hpp"
#include "stores/net/socket.hpp"
#include "stores/zookeeper/jute.hpp"
#include "stores/zookeeper/operations.hpp"

namespace holdfast::inline v0::zookeeper {

/// One connection to a server: found, connected, secured, and the session asked for, without ever
/// blocking. Threads: one at a time, except that the Socket which it gives out may be written to
/// meanwhile.
class Link {
public:
    enum class State : std::uint8_t { down, connecting, greeting, ready };

    /// `resolved` is called on any thread when a host's name was looked up.
    explicit Link(std::function<void()> resolved) : resolved_(std::move(resolved)) {}

    State state() const noexcept { return state_; }
    bool ready() const noexcept { return state_ == State::ready; }
    /// What the server said of the session, on a ready link.
    const SessionAnswer& session() const noexcept { return session_; }
    /// When the attempt began: nothing of it was sent earlier.
    Moment opened() const noexcept { return opened_; }

    /// Starts to connect, when it is down. `greeting` is sent first of all. Of several endpoints
    /// behind one name the one with that number is tried first, and all others when it has no
    /// session for us. The address must outlive the connection.
    void open(const net::Address& address, std::string greeting, Moment now,
              std::size_t first_endpoint = 0);
    void close() noexcept;

    /// What to poll for: the descriptor is -1 while there is none.
    int descriptor() const noexcept { return socket_ ? socket_->descriptor() : -1; }
    short wanted() const noexcept;
    /// When the attempt to connect ends.
    std::optional<Moment> deadline() const noexcept;

    /// Goes on connecting as far as it goes without blocking. A failure leaves it down.
    std::optional<Failure> advance(Moment now);
    /// Of an attempt that failed: a server is there, and trying again cannot mend what is wrong
    /// with it.
    bool is_hopeless() const noexcept { return hopeless_; }
    /// The records that have come in on a ready link, appended to `records`. After a failure,
    /// close() it. Changes nothing that others look at, so it needs no lock.
    std::optional<Failure> receive(std::vector<std::string>& records);
    const std::shared_ptr<net::Socket>& socket() const noexcept { return socket_; }

private:
    std::optional<Failure> connect();
    std::optional<Failure> greet();
    std::optional<Failure> try_another(const Failure& failure);
    std::optional<Failure> read_socket();
    Failure broken(const std::string& why) const;

    const std::function<void()> resolved_;
    const net::Address* address_ = nullptr;
    State state_ = State::down;
    Moment opened_{};
    bool hopeless_ = false;
    std::optional<net::Dial> dial_;
    std::shared_ptr<net::Socket> socket_;
    std::string greeting_;
    std::string unsent_greeting_;
    FrameReader reader_;
    SessionAnswer session_;
};

}  // namespace holdfast::inline v0::zookeeper
