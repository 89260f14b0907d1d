#pragma once

#include "port/store_url.hpp"
#include "stores/net/address.hpp"

namespace holdfast::inline v0::memcached {

/// The servers of a store. Each name is on one of them: see Continuum.
struct Servers : net::ServerList {
    net::User user = {};  ///< as the server's file of `-Y` has it
};

/// Throws Error with errc::bad_configuration when the URL names none, or what none can have.
Servers servers_of(const StoreUrl& url);

}  // namespace holdfast::inline v0::memcached
