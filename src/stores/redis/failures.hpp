#pragma once

#include <string_view>

#include "port/failure.hpp"
#include "stores/redis/address.hpp"

namespace holdfast::inline v0::redis {

/// What the server's error means, in our words.
Failure failure_of(std::string_view error, const Address& address);
/// The same of an error in place of a connection.
Failure refusal_of(std::string_view error, const Address& address);

/// It asks for patience: the same request may succeed in a moment, and had no effect.
bool is_passing(std::string_view error);
/// It has forgotten the script.
bool is_unknown_script(std::string_view error);
/// Another server is in charge now: connecting again may find it.
bool is_elsewhere(std::string_view error);
/// A user who may not name the connection may still use it.
bool is_harmless_in_greeting(std::string_view error);

}  // namespace holdfast::inline v0::redis
