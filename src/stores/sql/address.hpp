#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include "port/store_url.hpp"
#include "stores/net/address.hpp"

namespace holdfast::inline v0::sql {

/// A database of a server, and how it is entered.
struct Address : net::Address {
    std::string user = {};
    std::string password = {};
    std::string database = {};

    /// How long a request waits in the server for what somebody has locked: less than we wait for
    /// the server, so that it says why, and the connection stays.
    std::chrono::milliseconds lock_timeout() const {
        return std::max(request_timeout * 2 / 3, std::chrono::milliseconds{1});
    }
};

/// What a kind of server has when its URL says nothing.
struct Defaults {
    std::string kind;  ///< for sentences: "postgres"
    std::uint16_t port = 0;
    std::string password_variable;  ///< of the environment: "PGPASSWORD"
};

/// Throws Error with errc::bad_configuration. Reads the password's file, if one is named.
Address address_of(const StoreUrl& url, const Defaults& defaults);

}  // namespace holdfast::inline v0::sql
