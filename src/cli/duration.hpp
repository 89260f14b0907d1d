#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// A duration as people write it: 500ms, 30s, 1.5m, 1h; a bare number is seconds, as with
/// flock(1). Nothing for what is none, is negative, or is longer than a hundred years.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// The same the other way round, with at most one decimal: 12.3 s.
std::string show_duration(std::chrono::nanoseconds duration);

/// How long something lasts already, as one says it: 12 s, 3 min, 5 h.
std::string show_age(std::chrono::nanoseconds age);

}  // namespace holdfast::cli
