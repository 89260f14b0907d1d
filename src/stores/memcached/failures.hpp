#pragma once

#include <optional>
#include <string_view>

#include "port/failure.hpp"
#include "stores/net/address.hpp"

namespace holdfast::inline v0::memcached {

/// Whether it wants a user and a password before anything else.
bool wants_password(std::string_view error);

/// What a server's error means, to whatever was asked. `password` is cut out of it.
Failure failure_of(std::string_view error, const net::Address& server, std::string_view password);

/// Why a server of this version cannot be used; nothing when it can.
std::optional<Failure> objection_to(std::string_view version, const net::Address& server);

}  // namespace holdfast::inline v0::memcached
