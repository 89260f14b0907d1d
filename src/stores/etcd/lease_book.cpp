#include "stores/etcd/lease_book.hpp"

#include <algorithm>
#include <utility>

#include "stores/listed/first_exception.hpp"

namespace holdfast::inline v0::etcd {

std::optional<Lease> LeaseBook::find(std::chrono::seconds asked) const {
    const std::lock_guard guard(mutex_);
    const auto found = leases_.find(asked);
    if (found == leases_.end()) return std::nullopt;
    return found->second;
}

std::optional<Lease> LeaseBook::find_by_id(std::int64_t id) const {
    const std::lock_guard guard(mutex_);
    for (const auto& [asked, lease] : leases_) {
        if (lease.id == id) return lease;
    }
    return std::nullopt;
}

std::vector<Lease> LeaseBook::all() const {
    const std::lock_guard guard(mutex_);
    std::vector<Lease> leases;
    for (const auto& [asked, lease] : leases_) {
        if (asked.count() > 0) leases.push_back(lease);
    }
    return leases;
}

bool LeaseBook::wait_for(std::chrono::seconds asked, Wanted wanted) {
    const std::lock_guard guard(mutex_);
    auto& waiting = waiting_[asked];
    waiting.push_back(std::move(wanted));
    return waiting.size() == 1;
}

std::vector<LeaseBook::Wanted> LeaseBook::take_waiting(std::chrono::seconds asked) {
    const auto found = waiting_.find(asked);
    if (found == waiting_.end()) return {};
    auto waiting = std::move(found->second);
    waiting_.erase(found);
    return waiting;
}

void LeaseBook::tell(const std::vector<Wanted>& waiting, const Result<Lease>& result) {
    listed::FirstException first;
    for (const Wanted& wanted : waiting) first.of([&] { wanted(result); });
    first.rethrow();
}

void LeaseBook::got(std::chrono::seconds asked, const Lease& lease) {
    std::vector<Wanted> waiting;
    {
        const std::lock_guard guard(mutex_);
        leases_[asked] = lease;
        waiting = take_waiting(asked);
    }
    tell(waiting, lease);
}

void LeaseBook::failed(std::chrono::seconds asked, const Failure& failure) {
    std::vector<Wanted> waiting;
    {
        const std::lock_guard guard(mutex_);
        waiting = take_waiting(asked);
    }
    tell(waiting, failure);
}

void LeaseBook::heard(std::int64_t id, Moment sent) {
    const std::lock_guard guard(mutex_);
    for (auto& [asked, lease] : leases_) {
        if (lease.id == id) lease.heard_at = std::max(lease.heard_at, sent);
    }
}

bool LeaseBook::forget(std::int64_t id) {
    const std::lock_guard guard(mutex_);
    return std::erase_if(leases_, [id](const auto& one) { return one.second.id == id; }) > 0;
}

}  // namespace holdfast::inline v0::etcd
