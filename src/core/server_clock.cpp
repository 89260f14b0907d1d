#include "core/server_clock.hpp"

#include "core/lease.hpp"

namespace holdfast::inline v0::core {

using namespace std::chrono_literals;

namespace {

/// Less than that is told by nobody's next renewal too late.
constexpr auto least_jump = 100ms;

/// The least time between two jumps that are told: servers that answer by turns and do not agree
/// would jump with every answer.
constexpr auto between_jumps = 1s;

}  // namespace

std::chrono::microseconds ServerClock::heard(Moment sent, Moment received, Reading reading) {
    // Overtaken by the answer to a later one.
    if (sent < sent_) return 0us;
    const Ahead now{.least = reading - received.time_since_epoch(),
                    .most = reading - sent.time_since_epoch()};
    std::chrono::nanoseconds jump = 0ns;
    if (ahead_) {
        const auto slack = tolerance(received);
        if (now.least > ahead_->most + slack) jump = now.least - ahead_->most;
        if (now.most < ahead_->least - slack) jump = now.most - ahead_->least;
    }
    // It is found again by the next answer.
    if (jump != 0ns && told_ && received - *told_ < between_jumps) return 0us;
    ahead_ = now;
    sent_ = sent;
    if (jump == 0ns) return 0us;
    told_ = received;
    return std::chrono::duration_cast<std::chrono::microseconds>(jump);
}

/// Clocks may drift apart, or be slewed, by as much as leases allow for.
std::chrono::nanoseconds ServerClock::tolerance(Moment now) const {
    return least_jump + margin(now - sent_);
}

}  // namespace holdfast::inline v0::core
