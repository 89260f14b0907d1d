#pragma once

#include <optional>
#include <string>

#include "stores/etcd/common.hpp"

namespace holdfast::inline v0::etcd {

/// What proves that a lease was kept by whoever leads. A leader that was stopped or cut off keeps
/// leases alive for a while that its successor counts down already. So something is read at the
/// same time, which a majority alone can answer, and only answers of one term count: from the
/// earliest of their sends, since the next leader, if there is one already, began later and with
/// the whole lease.
class Proof {
public:
    void add(Moment sent, std::uint64_t term);
    /// Nothing when they are of different terms.
    std::optional<Moment> since() const;

private:
    std::optional<std::uint64_t> term_;
    bool of_one_term_ = true;
    Moment since_ = Moment::max();
};

/// That leaders changed for as long as a request may take.
Failure unproved(const Cluster& cluster);

/// Keeps a lease alive and proves it by a read of that key, again until both are of one term.
/// `done` is told whether it is there still.
void keep_lease(Common& common, std::int64_t lease, const std::string& key,
                Callback<void(Common&, Result<bool>)> done);

}  // namespace holdfast::inline v0::etcd
