#pragma once

#include <chrono>

#include "port/clock.hpp"

namespace holdfast::inline v0::net {

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
