#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "port/clock.hpp"

namespace holdfast::inline v0::etcd {

/// What proves that a lease was kept by whoever leads. A leader that was stopped or cut off keeps
/// leases alive for a while that its successor counts down already. So something is read at the
/// same time, which a majority alone can answer, and only answers of one term count: from the
/// earliest of their sends, since the next leader, if there is one already, began later and with
/// the whole lease.
class Proof {
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

}  // namespace holdfast::inline v0::etcd
