#pragma once

#include <cstdint>
#include <string>

#include "port/store_url.hpp"
#include "stores/net/address.hpp"

namespace holdfast::inline v0::redis {

/// A Redis server, and how it is entered.
struct Address : net::Address {
    Address() : net::Address{.kind = "redis", .port = 6379} {}

    std::string user = {};
    std::string password = {};
    std::uint32_t database = 0;
};

/// Throws Error with errc::bad_configuration. Reads the password's file, if one is named.
Address address_of(const StoreUrl& url);

}  // namespace holdfast::inline v0::redis
