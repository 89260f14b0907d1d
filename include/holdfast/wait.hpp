#pragma once

#include <chrono>

namespace holdfast::inline v0 {

/// How long to wait, from whatever duration: one of more than a century is a century, so that it
/// can be counted in nanoseconds, and one of less than nothing stays so.
class Wait {
public:
    template <class Rep, class Period>
    constexpr Wait(const std::chrono::duration<Rep, Period>& wait) : wait_(counted(wait)) {}

    /// A wait until a moment of any clock; none when it is past.
    template <class ClockType, class Duration>
    static Wait until(const std::chrono::time_point<ClockType, Duration>& deadline) {
        const auto now = ClockType::now();
        // Either side alone may be all that its type can hold.
        const std::chrono::duration<double> left =
            std::chrono::duration<double>(deadline.time_since_epoch()) -
            std::chrono::duration<double>(now.time_since_epoch());
        if (left <= left.zero()) return std::chrono::nanoseconds::zero();
        return left < std::chrono::hours{24} ? Wait(deadline - now) : Wait(left);
    }

    constexpr std::chrono::nanoseconds count() const noexcept { return wait_; }

private:
    template <class Rep, class Period>
    static constexpr std::chrono::nanoseconds counted(
        const std::chrono::duration<Rep, Period>& wait) {
        constexpr std::chrono::hours century{24 * 365 * 100};
        constexpr std::chrono::duration<double> limit = century;
        // Nor is what is no number a time.
        if (!(wait >= wait.zero())) return std::chrono::nanoseconds{-1};
        if (std::chrono::duration<double>(wait) >= limit) return century;
        return std::chrono::ceil<std::chrono::nanoseconds>(wait);
    }

    std::chrono::nanoseconds wait_;
};

}  // namespace holdfast::inline v0
