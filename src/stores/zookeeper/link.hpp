#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "port/clock.hpp"
#include "port/failure.hpp"
#include "stores/net/address.hpp"
#include "stores/net/link.hpp"
#include "stores/zookeeper/jute.hpp"
#include "stores/zookeeper/operations.hpp"

namespace holdfast::inline v0::zookeeper {

/// A connection to a server of ZooKeeper, which is greeted with the session that is asked for.
class Link final : public net::Link {
public:
    /// `resolved` is called on any thread when a host's name was looked up.
    explicit Link(std::function<void()> resolved)
        : net::Link(std::move(resolved), Suffices::greeting) {}

    /// What the server said of the session, on a ready link.
    const SessionAnswer& session() const noexcept { return session_; }

    /// Starts to connect, when it is down. `greeting` is sent first of all. Of several endpoints
    /// behind one name the one with that number is tried first, and all others when it has no
    /// session for us. The address must outlive the connection.
    void open(const net::Address& address, std::string greeting, Moment now,
              std::size_t first_endpoint = 0);

    /// The records that have come in on a ready link, appended to `records`. After a failure,
    /// close() it. Changes nothing that others look at, so it needs no lock.
    std::optional<Failure> receive(std::vector<std::string>& records);

private:
    std::string greeting() override;
    std::optional<Failure> hear_greeting() override;
    Failure late() const override;
    Failure broken(const net::Socket::Transfer& transfer) const override;
    std::optional<Failure> read_socket();

    std::string greeting_;
    FrameReader reader_;
    SessionAnswer session_;
};

}  // namespace holdfast::inline v0::zookeeper
