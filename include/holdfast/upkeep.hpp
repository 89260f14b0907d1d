#pragma once

#include <cstdint>
#include <functional>
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

/// Says of the servers of this URL that they are new: nobody can hold a lock on them. Only
/// independent nodes (redlock:) want to know, for one that was never used looks like one that has
/// forgotten who holds, and that does not count for a while. How many were told; nought where it
/// makes no difference. Throws Error: with errc::conflict when they were used, and then nothing is
/// changed.
HOLDFAST_EXPORT std::uint64_t init(std::string_view url);

/// What sweep() has removed.
struct Swept {
    std::uint64_t contenders = 0;  ///< whose lease had ended
    std::uint64_t resources = 0;   ///< whose last fence needs not be remembered any more
};

/// Called after each step of a sweep, on the thread that sweeps: what was removed until now, and
/// how much of the store was looked at, from 0 to 1.
using SweepProgress = std::function<void(const Swept& removed, double looked_at)>;

/// Removes what is over from a store that does not do so by itself, in small steps, and passes over
/// what somebody is at. No lock needs it to be safe, or to be had; it spares room. May run beside
/// everything else. Throws Error; what was removed by then stays so.
HOLDFAST_EXPORT Swept sweep(std::string_view url, const SweepProgress& progress = {});

}  // namespace holdfast::inline v0
