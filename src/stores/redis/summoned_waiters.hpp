#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "port/clock.hpp"
#include "port/contender.hpp"
#include "stores/scripted/waiters.hpp"

namespace holdfast::inline v0::redis {

/// The waiters of one client in the layouts of others. The lock is theirs: no line is in the
/// server, and nobody but this client knows of those who wait. Of those who wait for a resource in
/// this process, one at a time is told that the lock has changed. It wakes the next one when it has
/// not taken all that there is.
/// Threads: all members may be called from any thread.
class SummonedWaiters final : public scripted::Waiters {
public:
    void expect(const Contender& contender, std::uint64_t period) override;
    void forget(const Nonce& nonce) override;
    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override;
    bool is_over(const Nonce& nonce) const override;
    void settled(const Nonce& nonce, const Standing& standing) override;
    void goes_on(const Nonce& nonce, Moment lease_end) override;
    void claim_ended(const Nonce& nonce, std::uint64_t serial) override;
    scripted::Departure leave(const Ticket& ticket) override;
    void left(const scripted::Departure& departure, const Result<Standing>& result) override;

    /// Whoever has waited longest for the resource.
    std::optional<Nonce> first(const std::string& resource) const;
    /// Whether this client believes that it waits.
    bool is_waiting(const Nonce& nonce) const;
    /// A renewal with this serial is about to be sent: as it asked, if it waits. A waiter's renewal
    /// takes the lock, and a late copy would do so after it has left. So there is a doubt about it
    /// until this one is answered, and no copy of it is left. A holder's takes nothing, and its
    /// answer says nothing of the claims before it.
    std::optional<Contender> begin_claim(const Nonce& nonce, std::uint64_t serial);

private:
    struct Summoned {
        Contender contender = {};
        std::uint64_t order = 0;
        Moment lease_end = Moment::max();
    };
    using Lock = std::lock_guard<std::mutex>;

    Summoned& add(const Nonce& nonce, const std::string& resource, const Lock& lock);
    std::optional<Contender> remove(const Nonce& nonce);
    void summon_next(const std::string& resource);

    mutable std::mutex mutex_;
    std::uint64_t next_order_ = 0;
    std::map<Nonce, Summoned> summoned_;
    std::map<std::string, std::map<std::uint64_t, Nonce>> by_resource_;
    std::map<Nonce, std::multiset<std::uint64_t>> doubtful_;  ///< claims that a copy may be left of
};

}  // namespace holdfast::inline v0::redis
