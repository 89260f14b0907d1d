#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "port/clock.hpp"
#include "stores/redis/link.hpp"

namespace holdfast::inline v0::redis {

/// Finds out whether a connection by which only the server speaks is still one: it is asked for a
/// sign of life when nothing has come for a while.
/// Threads: as of a Node.
class Probe {
public:
    /// A sign of life may take so long.
    explicit Probe(std::chrono::nanoseconds patience) : patience_(patience) {}

    /// Something came, or the connection was made.
    void heard(Moment now);
    /// The connection was closed.
    void end();
    /// Whether it should have been asked a while ago, and nobody has looked since: then what was
    /// lost with the connection may be long ago.
    bool is_overlooked(Moment now) const noexcept;
    /// Asks at once: go_on() sends it.
    void ask(Moment now);
    /// Asks `link`, which is ready, when it is time to. False: it has not answered for too long.
    bool go_on(const Link& link, Moment now);
    /// One that it was asked for came.
    void answered() noexcept;
    /// Whether all came: nothing is as sure a sign of life since the last was asked for.
    bool is_answered() const noexcept { return unanswered_ == 0; }

    bool wants_room() const noexcept { return !unsent_.empty(); }
    /// When go_on() is due by itself; never: Moment::max().
    Moment earliest() const { return overdue_.value_or(next_); }

private:
    const std::chrono::nanoseconds patience_;
    Moment next_ = Moment::max();
    std::optional<Moment> overdue_;  ///< when an answer that is expected is
    bool had_last_chance_ = false;
    std::size_t unanswered_ = 0;
    std::string unsent_;
};

}  // namespace holdfast::inline v0::redis
