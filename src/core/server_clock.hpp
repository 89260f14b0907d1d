#pragma once

#include <chrono>
#include <optional>

#include "port/clock.hpp"

namespace holdfast::inline v0::core {

/// Compares a server's clock, which counts the leases there, with our own. What is known of it is
/// bounded by the send and the receipt of an answer that tells it, so a slow network is no jump.
/// Not safe to use from two threads at once.
class ServerClock {
public:
    using Reading = std::chrono::microseconds;  ///< since whenever

    /// An answer to what was sent then, and came then, read the clock as this. By how much it went
    /// forward (or back, less than nought) beside ours since the answer before, at the least;
    /// nought when that may be the clocks' drift.
    std::chrono::microseconds heard(Moment sent, Moment received, Reading reading);

private:
    /// How far it is ahead of ours.
    struct Ahead {
        std::chrono::nanoseconds least, most;
    };

    std::chrono::nanoseconds tolerance(Moment now) const;

    std::optional<Ahead> ahead_;
    Moment sent_{};
    std::optional<Moment> told_;
};

}  // namespace holdfast::inline v0::core
