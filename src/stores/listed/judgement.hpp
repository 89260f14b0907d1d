#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stores/listed/seat.hpp"

namespace holdfast::inline v0::listed {

/// Where a contender stands in a line that was listed after it had come into it.
struct Judgement {
    enum class Verdict : std::uint8_t {
        absent,  ///< it is not there
        admitted,
        waits,
        conflict,  ///< whoever is admitted uses the resource with another capacity
    };
    Verdict verdict = Verdict::absent;
    /// Of one that waits: the nodes whose end, or change, may bring it further. Nobody comes into a
    /// line ahead of others, so all else may happen unseen. Of a conflict: the nearest ahead that
    /// disagrees, should the first one turn out to be about to leave as well.
    std::vector<std::string> watched = {};
    /// The one that is watched is the only one ahead: its end is the admission.
    bool next = false;
    /// Of a conflict.
    std::uint64_t capacity_ahead = 0;
};

/// Only who is admitted decides what the resource is like. Whoever disagrees with it is about to
/// leave: the ones behind it wait for that, and are not refused for its sake. They are not admitted
/// past it either, since it may have come to the front before it looked.
Judgement judge(std::span<const Seat> line, std::string_view node);

/// How many from the front are admitted. Those that disagree on the capacity are about to leave.
std::size_t admitted_in(std::span<const Seat> line);

}  // namespace holdfast::inline v0::listed
