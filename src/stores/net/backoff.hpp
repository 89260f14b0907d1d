#pragma once

#include <chrono>

#include "port/clock.hpp"

namespace holdfast::inline v0::net {

/// Not the same twice, and not longer than that: so that clients which met the same do not all come
/// at once. Never fails, where there is nothing random either.
std::chrono::nanoseconds random_time(std::chrono::nanoseconds longest) noexcept;

/// When an attempt that failed is made again: later each time, and never at the same moment as
/// others that failed with it.
class Backoff {
public:
    Moment next() const noexcept { return next_; }
    void failed(Moment now) noexcept;
    void succeeded() noexcept { *this = {}; }

private:
    Moment next_{};
    std::chrono::nanoseconds delay_{};
};

}  // namespace holdfast::inline v0::net
