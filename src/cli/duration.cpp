#include "cli/duration.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>

#include "cli/format.hpp"

namespace holdfast::cli {
namespace {

constexpr double longest_in_seconds = 100.0 * 365 * 24 * 3600;

std::optional<double> seconds_in(std::string_view unit) {
    if (unit.empty() || unit == "s") return 1;
    if (unit == "ms") return 0.001;
    if (unit == "m") return 60;
    if (unit == "h") return 3600;
    return std::nullopt;
}

}  // namespace

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) {
    double count = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] =
        std::from_chars(text.data(), end, count, std::chars_format::fixed);
    const auto unit = seconds_in(std::string_view(stopped, end));
    if (error != std::errc{} || !unit) return std::nullopt;
    const double seconds = count * *unit;
    if (!std::isfinite(seconds) || std::signbit(seconds) || seconds > longest_in_seconds) {
        return std::nullopt;
    }
    return std::chrono::ceil<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

std::string show_duration(std::chrono::nanoseconds duration) {
    const double seconds = std::chrono::duration<double>(duration).count();
    // Not rounded to nought: nobody has given that.
    if (seconds > 0 && seconds < 0.001) return formatted("{:.1g} ms", seconds * 1000);
    if (seconds < 1) return formatted("{:.0f} ms", seconds * 1000);
    if (seconds < 600) return formatted("{:.1f} s", seconds);
    if (seconds < 2 * 3600) return formatted("{:.0f} min", seconds / 60);
    if (seconds < 48 * 3600) return formatted("{:.0f} h", seconds / 3600);
    return formatted("{:.0f} days", seconds / (24 * 3600));
}

std::string show_age(std::chrono::nanoseconds age) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(age).count();
    if (seconds < 120) return formatted("{} s", seconds);
    constexpr std::int64_t two_hours = 7200;
    if (seconds < two_hours) return formatted("{} min", seconds / 60);
    return formatted("{} h", seconds / 3600);
}

}  // namespace holdfast::cli
