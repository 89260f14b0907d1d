#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include "port/clock.hpp"
#include "stores/zookeeper/ensemble.hpp"
#include "stores/zookeeper/operations.hpp"
#include "stores/zookeeper/proof.hpp"

namespace holdfast::inline v0::zookeeper {

/// What a client knows of its session: enough to take it up on another connection, and how far it
/// can be trusted.
/// Threads: id(), timeout() and limit() from any, all else under one lock of its owner's.
class Session {
public:
    /// The ensemble must outlive this.
    Session(const Ensemble& ensemble, Term term)
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

    /// Whether it was not watched before.
    bool watch(const std::string& path) { return watched_.insert(path).second; }
    /// Whether it was.
    bool unwatch(const std::string& path) { return watched_.erase(path) > 0; }
    /// The latest state of the servers' that was seen.
    void saw(std::int64_t zxid);

    Proof& proof() noexcept { return proof_; }
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
    Proof proof_;
};

}  // namespace holdfast::inline v0::zookeeper
