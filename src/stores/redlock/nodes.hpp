#pragma once

#include <string>
#include <vector>

#include "port/store_url.hpp"
#include "stores/redis/address.hpp"
#include "stores/redlock/quorum.hpp"

namespace holdfast::inline v0::redlock {

/// The independent servers of one store, and what all its clients agree on.
struct Nodes {
    std::vector<redis::Address> addresses = {};
    Terms terms = {};
    /// Which nodes these are, in hexadecimal digits: the same for all clients that name them so, in
    /// whatever order.
    std::string set = {};

    std::chrono::milliseconds request_timeout() const { return addresses.front().request_timeout; }
    /// For sentences: "redlock 127.0.0.1:6379,127.0.0.1:6380,127.0.0.1:6381".
    std::string shown() const;
};

/// Throws Error with errc::bad_configuration: fewer than three, an even number, one named twice.
/// Reads the file of the password, if one is named.
Nodes nodes_of(const StoreUrl& url);

}  // namespace holdfast::inline v0::redlock
