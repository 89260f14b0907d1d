#pragma once

#include <cstdint>

#include <holdfast/callback.hpp>

#include "port/clock.hpp"

namespace holdfast::inline v0::core {

/// Calls back at a moment. Callbacks of one Alarm never overlap.
class Alarm {
public:
    /// 0 is no timer.
    using Timer = std::uint64_t;

    virtual ~Alarm() = default;
    virtual Timer at(Moment moment, Callback<void()> callback) = 0;
    /// After it the callback does not start any more; it may be running on the alarm's thread.
    virtual void cancel(Timer timer) = 0;
    /// As soon as possible, in the order of the calls.
    virtual void post(Callback<void()> callback) = 0;
};

}  // namespace holdfast::inline v0::core
