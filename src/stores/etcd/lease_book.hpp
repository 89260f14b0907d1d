#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include <holdfast/callback.hpp>

#include "port/clock.hpp"
#include "port/failure.hpp"

namespace holdfast::inline v0::etcd {

/// A lease of etcd's, which all contenders of a client with this duration share.
struct Lease {
    std::int64_t id = 0;
    std::chrono::seconds ttl{};
    /// The send of the last answered request that granted it, or kept it alive: the servers count
    /// from no earlier.
    Moment heard_at{};

    Moment end() const { return heard_at + ttl; }
    /// Whether enough of it is left to begin with.
    bool is_fresh(Moment now) const { return now - heard_at <= ttl / 3; }
    /// See Standing::counted_from: what it promises ends before the lease may.
    Moment counted_from(Moment sent, std::chrono::milliseconds lease) const {
        return std::min<Moment>(sent, end() - lease);
    }
};

/// As long as a server must keep it: they count in whole seconds.
constexpr std::chrono::seconds ttl_for(std::chrono::milliseconds lease) {
    return std::chrono::ceil<std::chrono::seconds>(lease);
}

/// What proves that a lease was kept by whoever leads. A leader that was stopped or cut off keeps
/// leases alive for a while that its successor counts down already. So something is read at the
/// same time, which a majority alone can answer, and only answers of one term count: from the
/// earliest of their sends, since the next leader, if there is one already, began later and with
/// the whole lease.
class LeaseProof {
public:
    void add(Moment sent, std::uint64_t term) {
        of_one_term_ = of_one_term_ && term_.value_or(term) == term;
        term_ = term;
        since_ = std::min(since_, sent);
    }
    /// Nothing when they are of different terms.
    std::optional<Moment> since() const {
        if (!of_one_term_ || !term_) return std::nullopt;
        return since_;
    }

private:
    std::optional<std::uint64_t> term_;
    bool of_one_term_ = true;
    Moment since_ = Moment::max();
};

/// The leases that a client has, by their duration, and who waits to get one.
/// Threads: all members may be called from any thread.
class LeaseBook {
public:
    using Wanted = Callback<void(Result<Lease>)>;

    std::optional<Lease> find(std::chrono::seconds asked) const;
    std::optional<Lease> find_by_id(std::int64_t id) const;
    /// Those of contenders, whose length was asked for.
    std::vector<Lease> all() const;

    /// Whether nobody is about to get it yet, so that the caller must: he calls got() or failed().
    bool wait_for(std::chrono::seconds asked, Wanted wanted);
    void got(std::chrono::seconds asked, const Lease& lease);
    void failed(std::chrono::seconds asked, const Failure& failure);

    void heard(std::int64_t id, Moment sent);
    /// It is over. Whether it was known.
    bool forget(std::int64_t id);

private:
    static void tell(const std::vector<Wanted>& waiting, const Result<Lease>& result);
    std::vector<Wanted> take_waiting(std::chrono::seconds asked);

    mutable std::mutex mutex_;
    std::map<std::chrono::seconds, Lease> leases_;
    std::map<std::chrono::seconds, std::vector<Wanted>> waiting_;
};

}  // namespace holdfast::inline v0::etcd
