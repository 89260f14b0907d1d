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
/// connection secured, without ever blocking. The time for it (connect_timeout) is shared by the
/// endpoints that are left: one that says nothing leaves some for the others. For one thread at a
/// time.
class Dial {
public:
    /// `resolved` is called on any thread when a host's name was looked up. The endpoint with the
    /// number `first` (of as many as there are, and then again from the first) is tried before the
    /// others. The address must outlive this.
    Dial(const Address& address, std::function<void()> resolved, std::size_t first = 0);

    /// Goes on as far as it goes without blocking.
    std::optional<Failure> advance();
    /// Of an attempt that failed: a server is there, and trying again cannot mend what is wrong
    /// with it, or with us. A certificate, say.
    /// Where there are several endpoints: with each of them.
    bool is_hopeless() const noexcept { return hopeless_.has_value() && !any_may_mend_; }
    /// Whether bytes can be sent by socket().
    bool established() const noexcept { return established_; }
    /// Null while there is none yet.
    const std::shared_ptr<Socket>& socket() const noexcept { return socket_; }
    /// When it is to go on, though nothing has come.
    Moment deadline() const noexcept { return deadline_; }
    /// The endpoint that was reached is of no use. Whether there is another one: then it goes on.
    bool try_another();

private:
    std::optional<Failure> resolve();
    std::optional<Failure> objection_to_endpoints();
    bool is_silent() const;
    std::optional<Failure> try_next_endpoint(const std::string& why);
    std::optional<Failure> connect();

    const Address& address_;
    const std::size_t first_;
    const Moment end_;  ///< of the attempt
    Moment deadline_;   ///< of the present endpoint
    std::optional<Resolution> resolution_;
    std::vector<Endpoint> endpoints_;
    std::shared_ptr<Socket> socket_;
    bool established_ = false;
    std::optional<std::string> hopeless_;  ///< why
    bool any_may_mend_ = false;            ///< an endpoint that did not answer, or not to the end
};

}  // namespace holdfast::inline v0::net
