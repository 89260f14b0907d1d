#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "port/store_url.hpp"
#include "stores/net/address.hpp"
#include "stores/redis/replicas.hpp"

namespace holdfast::inline v0::redis {

/// A Redis server, and how it is entered.
struct Address : net::Address {
    Address() : net::Address{.kind = "redis", .port = 6379} {}

    /// The same way into another server.
    Address at(const Host& place) const;

    std::string user = {};
    std::string password = {};
    std::uint32_t database = 0;
    /// How many of its replicas must confirm what makes a holder.
    Replicas replicas = Replicas::none;
};

/// The servers of one store, as its URL names them.
struct Servers {
    enum class Kind : std::uint8_t {
        single,
        sentinel,  ///< one master at a time, which the sentinels name
        cluster,   ///< many masters, each for some of the keys
    };

    Kind kind = Kind::single;
    /// The only one; or all sentinels; or nodes of the cluster, to start with.
    std::vector<Address> named = {};
    /// How each node is entered, wherever it is.
    Address node = {};
    /// What the sentinels call the master.
    std::string master = {};

    /// For sentences: "redis 127.0.0.1:6379".
    std::string shown() const;
};

/// Throws Error with errc::bad_configuration. Reads the files of passwords, if any are named.
Servers servers_of(const StoreUrl& url);
/// Those of a scheme for one server.
Address address_of(const StoreUrl& url);

}  // namespace holdfast::inline v0::redis
