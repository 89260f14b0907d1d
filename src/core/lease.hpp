#pragma once

#include <algorithm>
#include <chrono>

#include "port/clock.hpp"

/// What a lease means to the one who holds it. `from` is the send of the last answered request: the
/// server cannot have started counting earlier.
namespace holdfast::inline v0::core {

inline constexpr std::chrono::milliseconds shortest_lease{100};
inline constexpr std::chrono::milliseconds longest_lease = std::chrono::hours{24};

/// The lease of whoever asks for none: 30 s, where the store grants so much.
constexpr std::chrono::milliseconds usual_lease(std::chrono::milliseconds longest_granted) {
    return std::min<std::chrono::milliseconds>(std::chrono::seconds{30}, longest_granted);
}

/// What clocks of different machines may drift apart within one lease, with plenty to spare.
constexpr std::chrono::nanoseconds margin(std::chrono::nanoseconds lease) {
    return lease / 20;
}

/// The moment until which a hold can be trusted.
constexpr Moment valid_until(Moment from, std::chrono::nanoseconds lease) {
    return from + lease - margin(lease);
}

/// When a holder is told that the store was not heard of: early enough to stop before the end.
constexpr Moment told_at(Moment from, std::chrono::nanoseconds lease) {
    return valid_until(from, lease) - margin(lease);
}

constexpr Moment renewal_due(Moment from, std::chrono::nanoseconds lease) {
    return from + lease / 3;
}

/// How soon a failed renewal is tried again: four more tries fit before the holder is told.
constexpr std::chrono::nanoseconds renewal_retry(std::chrono::nanoseconds lease) {
    return lease / 12;
}

/// Renewals that are due within this time of each other travel together.
constexpr std::chrono::nanoseconds renewal_window(std::chrono::nanoseconds lease) {
    return lease / 24;
}

}  // namespace holdfast::inline v0::core
