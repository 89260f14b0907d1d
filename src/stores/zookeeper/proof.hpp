#pragma once

#include <chrono>
#include <deque>

#include "port/clock.hpp"

namespace holdfast::inline v0::zookeeper {

/// Until when the leader keeps a session, as far as that is proved to its client.
///
/// The leader ends sessions, and counts from when it last heard of one. A client's own server
/// reports who was active twice in a tick; between two reports it answers reads and pings also when
/// it is cut off from the leader. So that something was answered proves nothing yet. But when a
/// write was sent a tick after that answer, and is answered too, then a report has reached the
/// leader in between: it counts from no earlier than the send of the first. Only a write: a leader
/// whose followers have left it answers all else, while they elect another one, which counts from
/// its own beginning. That is later than the last write that a majority has taken.
class Proof {
public:
    /// `tick` is at least the servers' own.
    explicit Proof(std::chrono::nanoseconds tick) : tick_(tick) {}

    /// The session was made at that time, by a write.
    void made(Moment sent);
    /// A server has taken it up, which tells whom it takes for the leader: the next write proves
    /// it.
    void taken_up(Moment sent);
    void answered(Moment sent, Moment now);
    void answered_by_majority(Moment sent);

    /// The leader counts from then, or later.
    Moment heard_at() const noexcept { return heard_at_; }

    void assume_tick(std::chrono::nanoseconds tick) noexcept { tick_ = tick; }

private:
    struct Activity {
        Moment sent;
        Moment answered;
    };
    std::chrono::nanoseconds tick_;
    Moment heard_at_{};
    std::deque<Activity> unreported_;
};

/// The moment that a lease may be counted from, for a request sent at `sent`: what it promises ends
/// before the session may.
constexpr Moment counted_from(Moment sent, Moment heard_at, std::chrono::nanoseconds session,
                              std::chrono::nanoseconds lease) {
    const Moment by_session = heard_at + session - lease;
    return by_session < sent ? by_session : sent;
}

}  // namespace holdfast::inline v0::zookeeper
