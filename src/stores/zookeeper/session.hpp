#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <set>
#include <string>

#include "port/clock.hpp"
#include "stores/zookeeper/ensemble.hpp"
#include "stores/zookeeper/operations.hpp"

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
class SessionProof {
public:
    /// `tick` is at least the servers' own.
    explicit SessionProof(std::chrono::nanoseconds tick) : tick_(tick) {}

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

/// What a client knows of its session: enough to take it up on another connection, and how far it
/// can be trusted.
/// Threads: id(), timeout() and limit() from any, all else under one lock of its owner's.
class KeptSession {
public:
    /// The ensemble must outlive this.
    KeptSession(const Ensemble& ensemble, Term term)
        : ensemble_(ensemble), term_(term), proof_(ensemble.tick) {}

    /// 0: there is none.
    std::int64_t id() const noexcept { return id_.load(); }
    /// As negotiated with the servers.
    std::chrono::milliseconds timeout() const noexcept { return timeout_.load(); }
    /// The most that any server granted which was asked for more, of earlier sessions as well; 0:
    /// none was.
    std::chrono::milliseconds limit() const noexcept { return limit_.load(); }

    /// What is said first on a connection: which session, who we are, and what is watched. A server
    /// serves it in this order, before all that follows.
    struct Greeting {
        std::string bytes;
        std::size_t watches = 0;  ///< how many records of it are about what is watched
    };
    Greeting greeting() const;
    enum class Fate : std::uint8_t { lives, over };
    /// What a server that was asked at `asked`, or later, has said of it.
    Fate answered(const SessionAnswer& answer, Moment asked);
    /// It is over; which it was.
    std::int64_t end();
    /// Whether that one has ended, of those that did so last.
    bool is_past(std::int64_t id) const { return std::ranges::find(past_, id) != past_.end(); }

    /// Whether it was not watched before.
    bool watch(const std::string& path) { return watched_.insert(path).second; }
    /// Whether it was.
    bool unwatch(const std::string& path) { return watched_.erase(path) > 0; }
    /// The latest state of the servers' that was seen.
    void saw(std::int64_t zxid);

    SessionProof& proof() noexcept { return proof_; }
    Moment counted_from(Moment sent, std::chrono::nanoseconds lease) const {
        return zookeeper::counted_from(sent, proof_.heard_at(), timeout(), lease);
    }

private:
    const Ensemble& ensemble_;
    const Term term_;
    std::atomic<std::int64_t> id_{0};
    std::atomic<std::chrono::milliseconds> timeout_{};
    std::atomic<std::chrono::milliseconds> limit_{};
    std::string password_;
    std::int64_t last_zxid_ = 0;
    std::set<std::string> watched_;
    std::deque<std::int64_t> past_;  ///< the last one last
    SessionProof proof_;
};

}  // namespace holdfast::inline v0::zookeeper
