#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace holdfast::inline v0 {

/// CLOCK_BOOTTIME: goes on while the machine sleeps, and nobody can set it.
struct BootClock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<BootClock, duration>;
    static constexpr bool is_steady = true;

    static time_point now() noexcept {
        timespec time{};
        clock_gettime(CLOCK_BOOTTIME, &time);
        return time_point{std::chrono::seconds{time.tv_sec} +
                          std::chrono::nanoseconds{time.tv_nsec}};
    }
};

using Moment = BootClock::time_point;

/// Time is an input: everything that decides by it asks one of these, so that a test can be it.
class Clock {
public:
    virtual ~Clock() = default;
    virtual Moment now() const noexcept = 0;
    /// The wall clock in µs since 1970. Only an embedded store asks, and only to number fences.
    virtual std::uint64_t wall_microseconds() const noexcept = 0;
};

class SystemClock final : public Clock {
public:
    Moment now() const noexcept override { return BootClock::now(); }
    std::uint64_t wall_microseconds() const noexcept override {
        timespec time{};
        clock_gettime(CLOCK_REALTIME, &time);
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000U +
               static_cast<std::uint64_t>(time.tv_nsec) / 1'000U;
    }
};

}  // namespace holdfast::inline v0
