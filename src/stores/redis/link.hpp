#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "port/clock.hpp"
#include "port/failure.hpp"
#include "stores/net/link.hpp"
#include "stores/redis/address.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/reply.hpp"

namespace holdfast::inline v0::redis {

/// What a server has to be, by what it says itself on each new connection.
enum class Part : std::uint8_t {
    any,
    master,
    independent,  ///< it must say which process it is, for requests that name that
};

/// What is said first on each connection: the user, the database, our name; and what it is asked.
std::vector<Command> entering(const Address& address, Part part = Part::any);

/// A connection to a server of Redis. A failure with errc::bad_configuration means that trying
/// again cannot mend it.
class Link final : public net::Link {
public:
    /// `greeting` is said on each new connection; each command of it has one reply. For a part it
    /// begins with entering() that. `resolved` is called on any thread when a host's name was
    /// looked up.
    Link(const Address& address, std::vector<Command> greeting, std::function<void()> resolved,
         Part part = Part::any);

    /// Starts to connect, when it is down.
    void open(Moment now) { net::Link::open(address_, now); }
    std::optional<Failure> advance(Moment now);
    /// What was answered to the greeting, in order.
    const std::vector<Reply>& greeted() const noexcept { return greeted_; }

    /// What has come in on a ready link, appended to `replies`. After a failure, close() it.
    std::optional<Failure> receive(std::vector<Reply>& replies) {
        return read(&net::Socket::read, reader_, replies, protocol);
    }
    /// The same, once something has come in: see Socket::await().
    std::optional<Failure> await(std::vector<Reply>& replies) {
        return read(&net::Socket::await, reader_, replies, protocol);
    }

private:
    std::string greeting() override;
    std::optional<Failure> hear_greeting() override;
    Failure late() const override;
    Failure broken(const net::Socket::Transfer& transfer) const override;
    std::optional<Failure> refusal() const;
    std::optional<Failure> objection() const;
    static constexpr const char* protocol = "Redis'";

    const Address& address_;
    const std::vector<Command> greeting_;
    const Part part_;
    ReplyReader reader_;
    std::vector<Reply> greeted_;
};

}  // namespace holdfast::inline v0::redis
