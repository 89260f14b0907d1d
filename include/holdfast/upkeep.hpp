#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <holdfast/export.hpp>

/// What somebody does who looks after a store, and not who takes locks. Not in holdfast.hpp.
/// Threads: all functions may be called from any thread.
namespace holdfast::inline v0 {

/// The statements that make what the store of this URL needs in its database, for one where users
/// may create nothing; where they may, the first of them does so by itself. Empty for a store that
/// needs nothing. Asks no server. Throws Error with errc::bad_configuration.
HOLDFAST_EXPORT std::string schema(std::string_view url);

/// What sweep() has removed.
struct Swept {
    std::uint64_t contenders = 0;  ///< whose lease had ended
    std::uint64_t resources = 0;   ///< whose last fence needs not be remembered any more
};

/// Removes what is over from a store that does not do so by itself. No lock needs it to be safe, or
/// to be had; it spares room. May run beside everything else. Throws Error.
HOLDFAST_EXPORT Swept sweep(std::string_view url);

}  // namespace holdfast::inline v0
