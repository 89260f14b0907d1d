#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "port/clock.hpp"
#include "port/failure.hpp"
#include "stores/net/address.hpp"
#include "stores/net/resolver.hpp"
#include "stores/net/socket.hpp"

namespace holdfast::inline v0::net {

/// One attempt to reach a server: its host is found, each of its endpoints tried in turn, and the
/// connection secured, without ever blocking. For one thread at a time.
class Dial {
public:
    /// `resolved` is called on any thread when a host's name was looked up. The address must
    /// outlive this.
    Dial(const Address& address, std::function<void()> resolved);

    /// Goes on as far as it goes without blocking.
    std::optional<Failure> advance();
    /// Whether bytes can be sent by socket().
    bool established() const noexcept { return established_; }
    /// Null while there is none yet.
    const std::shared_ptr<Socket>& socket() const noexcept { return socket_; }

private:
    std::optional<Failure> resolve();
    std::optional<Failure> try_next_endpoint(const std::string& why);
    std::optional<Failure> connect();

    const Address& address_;
    std::optional<Resolution> resolution_;
    std::vector<Endpoint> endpoints_;
    std::shared_ptr<Socket> socket_;
    bool established_ = false;
};

}  // namespace holdfast::inline v0::net
