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
    /// Has all that at() needs, or throws Error: so that at() does not fail later, where nobody can
    /// be told.
    virtual void make_ready() {}
    /// What has not been called by now never is. Does not wait.
    virtual void end() noexcept {}
    virtual Timer at(Moment moment, Callback<void()> callback) = 0;
    /// After it the callback does not start any more; it may be running on the alarm's thread.
    virtual void cancel(Timer timer) = 0;
    /// As soon as possible, in the order of the calls.
    virtual void post(Callback<void()> callback) = 0;
};

}  // namespace holdfast::inline v0::core
