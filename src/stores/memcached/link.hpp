#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "port/clock.hpp"
#include "port/failure.hpp"
#include "stores/memcached/reply.hpp"
#include "stores/net/address.hpp"
#include "stores/net/dial.hpp"
#include "stores/net/socket.hpp"

namespace holdfast::inline v0::memcached {

/// One connection to a server: found, connected, secured and greeted without ever blocking.
/// Threads: one at a time, except that the Socket which it gives out may be written to meanwhile.
class Link {
public:
    enum class State : std::uint8_t {
        down,
        connecting,
        greeting,  ///< which version it is, and who we are
        ready,
    };

    /// `resolved` is called on any thread when a host's name was looked up.
    Link(const net::Address& address, const net::User& user, std::function<void()> resolved);

    State state() const noexcept { return state_; }
    bool ready() const noexcept { return state_ == State::ready; }

    /// Starts to connect, when it is down.
    void open(Moment now);
    void close() noexcept;

    /// What to poll for: the descriptor is -1 while there is none.
    int descriptor() const noexcept;
    short wanted() const noexcept;
    /// When the attempt to connect ends, or it is another address's turn.
    std::optional<Moment> deadline() const noexcept;

    /// Goes on connecting as far as it goes without blocking. A failure leaves it down; with
    /// errc::bad_configuration, trying again cannot mend it.
    std::optional<Failure> advance(Moment now);
    /// What has come in on a ready link, appended to `replies`. After a failure, close() it.
    std::optional<Failure> receive(std::vector<Reply>& replies);
    /// The same, once something has come in: see Socket::await().
    std::optional<Failure> await(std::vector<Reply>& replies);
    const std::shared_ptr<net::Socket>& socket() const noexcept { return socket_; }

private:
    using Read = net::Socket::Transfer (net::Socket::*)(char* buffer, std::size_t size);

    std::optional<Failure> connect();
    std::optional<Failure> greet();
    std::optional<Failure> take_greetings();
    std::optional<Failure> take_greeting(const Reply& reply);
    std::optional<Failure> refused(const std::string& error);
    std::optional<Failure> read_into(std::vector<Reply>& replies, Read first);
    Failure broken(const net::Socket::Transfer& transfer) const;
    Failure fault(errc code, const std::string& why) const;
    std::string other_kinds() const;

    const net::Address& address_;
    const net::User& user_;
    const std::function<void()> resolved_;
    State state_ = State::down;
    Moment deadline_{};
    std::optional<net::Dial> dial_;
    std::shared_ptr<net::Socket> socket_;
    std::string unsent_;       ///< of the greeting
    bool identified_ = false;  ///< at least we have said who we are
    ReplyReader reader_;
};

}  // namespace holdfast::inline v0::memcached
