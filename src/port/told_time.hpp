#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace holdfast::inline v0 {

/// A time as a server tells it, or somebody has written it there: it may be any number. This is it,
/// or so long at the most that it is a time of any unit, and that two of them still are when one is
/// added to the other.
template <class Duration>
constexpr Duration told_as(std::int64_t number) {
    constexpr Duration longest = std::chrono::duration_cast<Duration>(std::chrono::years{140});
    return Duration{std::clamp<std::int64_t>(number, -longest.count(), longest.count())};
}

}  // namespace holdfast::inline v0
