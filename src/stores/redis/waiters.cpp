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
    found->second.waiter.summoned = false;
}

void Waiters::doubt(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    doubted_.insert(nonce);
}

bool Waiters::is_doubted(const Nonce& nonce) const {
    const std::lock_guard guard(mutex_);
    return doubted_.contains(nonce);
}

void Waiters::trust(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    doubted_.erase(nonce);
}

void Waiters::keep(const Nonce& nonce, const Standing& pushed) {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(nonce);
    if (found != entries_.end()) found->second.pushed = pushed;
}

std::optional<Standing> Waiters::take(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(nonce);
    if (found == entries_.end()) return std::nullopt;
    return std::exchange(found->second.pushed, std::nullopt);
}

std::optional<Nonce> Waiters::summon(const std::string& key) {
    const std::lock_guard guard(mutex_);
    const auto line = by_key_.find(key);
    if (line == by_key_.end()) return std::nullopt;
    const Nonce first = line->second.begin()->second;
    entries_.at(first).waiter.summoned = true;
    return first;
}

std::vector<Waiter> Waiters::all() const {
    const std::lock_guard guard(mutex_);
    std::vector<Waiter> waiters;
    waiters.reserve(entries_.size());
    for (const auto& [nonce, entry] : entries_) waiters.push_back(entry.waiter);
    return waiters;
}

}  // namespace holdfast::inline v0::redis
