#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/export.hpp>

/// Whether a lock is safe on a store as it is set up. For whoever looks after a store. Not in
/// holdfast.hpp.
namespace holdfast::inline v0 {

/// What follows from a finding.
enum class Severity : std::uint8_t {
    advice,   ///< a lock is safe, but slower, or later told, than it could be; or cannot be judged
    warning,  ///< something may befall the store after which two hold one lock, or nobody gets it
};

/// One thing about a store that somebody should know, or change.
struct Finding {
    Severity severity = Severity::warning;
    /// Names this kind of finding for programs, and does not change: "redis.evicts".
    std::string name;
    std::string fact;
    std::string consequence;
    /// What to set, and to what.
    std::string remedy;
};

/// What requests took, from the fastest up.
struct Spread {
    std::chrono::nanoseconds p50{0};
    std::chrono::nanoseconds p99{0};
    std::size_t count = 0;  ///< of how many; nought: it was not measured
};

/// What a store says of itself, and how long it takes.
struct Checkup {
    std::string store;  ///< its URL, without the password
    std::vector<Finding> findings;
    Spread round_trip;  ///< of a request that changes nothing
    Spread pair;        ///< a free lock: taken and given back
    Spread hand_off;    ///< from giving back to the next holder, who has waited
    /// How far the clock that leases are counted by is ahead of this machine's wall clock, to
    /// within half a round trip. Unset where none is asked: leases are counted without one, or by
    /// this machine's own.
    std::optional<std::chrono::microseconds> clock_ahead;

    bool is_safe() const {
        for (const Finding& finding : findings) {
            if (finding.severity == Severity::warning) return false;
        }
        return true;
    }
};

/// Asks the store of this URL what makes locks on it less safe than they could be, and measures for
/// two seconds at most how fast it is, with locks of its own that nobody else uses. Changes no
/// setting, and leaves nothing behind but what any first use makes (tables, functions) and what
/// remembers fences. Throws Error when the store cannot be asked.
HOLDFAST_EXPORT Checkup check_up(std::string_view url);

}  // namespace holdfast::inline v0
