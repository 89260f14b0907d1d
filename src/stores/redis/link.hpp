#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <functional>

#include "port/clock.hpp"
#include "port/failure.hpp"
#include "stores/net/dial.hpp"
#include "stores/net/socket.hpp"
#include "stores/redis/address.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/reply.hpp"

namespace holdfast::inline v0::redis {

using net::Socket;

/// What is said first on each connection: the user, the database, our name.
std::vector<Command> entering(const Address& address);

/// One connection to a server: found, connected, secured and greeted without ever blocking.
/// Threads: one at a time, except that the Socket which it gives out may be written to meanwhile.
class Link {
public:
    enum class State : std::uint8_t {
        down,
        connecting,
        greeting,  ///< the user, the database, what else must be said first
        ready,
    };

    /// `greeting` is said on each new connection; each command of it has one reply. `resolved` is
    /// called on any thread when a host's name was looked up.
    Link(const Address& address, std::vector<Command> greeting, std::function<void()> resolved);

    State state() const noexcept { return state_; }
    bool ready() const noexcept { return state_ == State::ready; }
    /// What was answered to the greeting, in order.
    const std::vector<Reply>& greeted() const noexcept { return greeted_; }

    /// Starts to connect, when it is down.
    void open(Moment now);
    void close() noexcept;

    /// What to poll for: the descriptor is -1 while there is none.
    int descriptor() const noexcept;
    short wanted() const noexcept;
    /// When the attempt to connect ends.
    std::optional<Moment> deadline() const noexcept;

    /// Goes on connecting as far as it goes without blocking. A failure leaves it down; with
    /// errc::bad_configuration, trying again cannot mend it.
    std::optional<Failure> advance(Moment now);
    /// What has come in on a ready link, appended to `replies`. After a failure, close() it.
    /// Changes nothing that others look at, so it needs no lock.
    std::optional<Failure> receive(std::vector<Reply>& replies);
    /// The same, once something has come in: see Socket::await().
    std::optional<Failure> await(std::vector<Reply>& replies);
    const std::shared_ptr<Socket>& socket() const noexcept { return socket_; }

private:
    std::optional<Failure> connect();
    std::optional<Failure> greet();
    std::optional<Failure> check_greeting();
    Failure fail(errc code, const std::string& why);
    Failure broken(const Socket::Transfer& transfer) const;
    Failure hung_up(Failure failure) const;
    using Read = Socket::Transfer (Socket::*)(char* buffer, std::size_t size);
    std::optional<Failure> read_into(std::vector<Reply>& replies, Read first);

    const Address& address_;
    const std::vector<Command> greeting_;
    const std::function<void()> resolved_;
    State state_ = State::down;
    Moment deadline_{};
    std::optional<net::Dial> dial_;
    std::shared_ptr<Socket> socket_;
    std::string unsent_greeting_;
    ReplyReader reader_;
    std::vector<Reply> greeted_;
};

}  // namespace holdfast::inline v0::redis
