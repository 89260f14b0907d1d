#include "stores/redis/waiters.hpp"

#include <utility>

namespace holdfast::inline v0::redis {

void Waiters::add(Waiter waiter) {
    const std::lock_guard guard(mutex_);
    const Nonce nonce = waiter.ticket.nonce;
    const auto [found, fresh] = entries_.try_emplace(nonce);
    if (fresh) {
        found->second.order = next_order_++;
        by_key_[waiter.key].emplace(found->second.order, nonce);
    }
    found->second.waiter = std::move(waiter);
}

std::optional<Waiter> Waiters::find(const Nonce& nonce) const {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(nonce);
    if (found == entries_.end()) return std::nullopt;
    return found->second.waiter;
}

std::optional<Waiter> Waiters::remove(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    const auto node = entries_.extract(nonce);
    if (node.empty()) return std::nullopt;
    const auto line = by_key_.find(node.mapped().waiter.key);
    line->second.erase(node.mapped().order);
    if (line->second.empty()) by_key_.erase(line);
    return std::move(node.mapped().waiter);
}

void Waiters::goes_on(const Nonce& nonce, Moment lease_end) {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(nonce);
    if (found == entries_.end()) return;
    found->second.waiter.lease_end = lease_end;
}

std::optional<Waiter> Waiters::begin_claim(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(nonce);
    if (found == entries_.end()) return std::nullopt;
    ++doubtful_[nonce];
    return found->second.waiter;
}

void Waiters::end_claim(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    const auto found = doubtful_.find(nonce);
    if (found != doubtful_.end() && --found->second == 0) doubtful_.erase(found);
}

bool Waiters::is_doubtful(const Nonce& nonce) const {
    const std::lock_guard guard(mutex_);
    return doubtful_.contains(nonce);
}

void Waiters::doubt_no_more(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    doubtful_.erase(nonce);
}

void Waiters::keep(const Nonce& nonce, const Standing& pushed) {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(nonce);
    if (found == entries_.end()) return;
    auto& kept = found->second.pushed;
    if (!kept || kept->state != Standing::State::offered) kept = pushed;
}

std::optional<Standing> Waiters::take(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(nonce);
    if (found == entries_.end()) return std::nullopt;
    return std::exchange(found->second.pushed, std::nullopt);
}

std::optional<Nonce> Waiters::first(const std::string& key) const {
    const std::lock_guard guard(mutex_);
    const auto line = by_key_.find(key);
    if (line == by_key_.end()) return std::nullopt;
    return line->second.begin()->second;
}

std::vector<Waiter> Waiters::all() const {
    const std::lock_guard guard(mutex_);
    std::vector<Waiter> waiters;
    waiters.reserve(entries_.size());
    for (const auto& [nonce, entry] : entries_) waiters.push_back(entry.waiter);
    return waiters;
}

}  // namespace holdfast::inline v0::redis
