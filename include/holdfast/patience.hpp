#pragma once

#include <chrono>

namespace holdfast::inline v0 {

/// A wait that the library can count in nanoseconds: whatever is longer than a century is one, and
/// whatever is less than nothing is nothing, as the standard library's locks have it.
template <class Rep, class Period>
constexpr std::chrono::nanoseconds patience(const std::chrono::duration<Rep, Period>& wait) {
    constexpr std::chrono::hours century{24 * 365 * 100};
    if (wait <= wait.zero()) return std::chrono::nanoseconds::zero();
    if (std::chrono::duration<double>(wait) >= std::chrono::duration<double>(century)) {
        return century;
    }
    return std::chrono::ceil<std::chrono::nanoseconds>(wait);
}

}  // namespace holdfast::inline v0
