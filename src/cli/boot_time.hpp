#pragma once

#include <chrono>

#include "cli/descriptor.hpp"

namespace holdfast::cli {

/// A moment on CLOCK_BOOTTIME, on which leases are counted: it goes on while the machine sleeps.
using BootTime = std::chrono::nanoseconds;

inline constexpr BootTime never = BootTime::max();

BootTime boot_time_now() noexcept;

/// What poll() sees at a moment. A timeout of poll() itself would stand still while the machine
/// sleeps.
class BootTimer {
public:
    BootTimer();

    void set(BootTime moment);
    int descriptor() const noexcept { return descriptor_.get(); }

private:
    Descriptor descriptor_;
    BootTime set_to_ = never;
};

}  // namespace holdfast::cli
