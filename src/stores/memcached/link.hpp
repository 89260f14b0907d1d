#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "port/clock.hpp"
#include "port/failure.hpp"
#include "stores/memcached/reply.hpp"
#include "stores/net/address.hpp"
#include "stores/net/link.hpp"

namespace holdfast::inline v0::memcached {

/// A connection to a server of memcached: it is greeted with the question which version it is, and
/// who we are. A failure with errc::bad_configuration means that trying again cannot mend it.
class Link final : public net::Link {
public:
    /// `resolved` is called on any thread when a host's name was looked up.
    Link(const net::Address& address, const net::User& user, std::function<void()> resolved);

    /// Starts to connect, when it is down.
    void open(Moment now) { net::Link::open(address_, now); }
    std::optional<Failure> advance(Moment now);

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
    std::optional<Failure> take_greeting(const Reply& reply);
    std::optional<Failure> refused(const std::string& error);
    static constexpr const char* protocol = "memcached's";

    std::string other_kinds() const;

    const net::Address& address_;
    const net::User& user_;
    bool identified_ = false;  ///< at least we have said who we are
    ReplyReader reader_;
};

}  // namespace holdfast::inline v0::memcached
