#include "stores/sql/waiters.hpp"

#include <utility>

namespace holdfast::inline v0::sql {

void Waiters::add(const Ticket& ticket, std::uint64_t period) {
    const std::lock_guard guard(mutex_);
    entries_.try_emplace(ticket.nonce, Entry{.ticket = ticket, .period = period});
}

void Waiters::remove(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    entries_.erase(nonce);
}

std::optional<std::uint64_t> Waiters::period_of(const Nonce& nonce) const {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(nonce);
    if (found == entries_.end()) return std::nullopt;
    return found->second.period;
}

void Waiters::keep(const Nonce& nonce, const Standing& told) {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(nonce);
    if (found == entries_.end()) return;
    auto& kept = found->second.told;
    if (!kept || kept->state != Standing::State::offered) kept = told;
}

std::optional<Standing> Waiters::take(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(nonce);
    if (found == entries_.end()) return std::nullopt;
    return std::exchange(found->second.told, std::nullopt);
}

std::vector<Ticket> Waiters::all() const {
    const std::lock_guard guard(mutex_);
    std::vector<Ticket> tickets;
    tickets.reserve(entries_.size());
    for (const auto& [nonce, entry] : entries_) tickets.push_back(entry.ticket);
    return tickets;
}

}  // namespace holdfast::inline v0::sql
