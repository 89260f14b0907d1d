#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "port/failure.hpp"
#include "port/store_url.hpp"
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
/// It has no function of that name.
bool is_unknown_function(std::string_view error);
/// The user may not call functions, or it knows of none.
bool forbids_functions(std::string_view error);
/// It will say the same as long as this connection lasts.
bool is_lasting_refusal(std::string_view error);
/// It does not serve this, or not just now: another server may, or the same one in a moment. It had
/// no effect.
bool is_elsewhere(std::string_view error);
/// Of those: which node of a cluster serves it.
struct Redirection {
    /// For this once, while the keys are moved there; else from now on.
    bool asks = false;
    std::uint16_t hash_slot = 0;
    /// Without a name: the node that said so, at this port.
    Host host = {};
};
std::optional<Redirection> redirection_of(std::string_view error);
/// A user who may not name the connection may still use it.
bool is_harmless_in_greeting(std::string_view error);

}  // namespace holdfast::inline v0::redis
