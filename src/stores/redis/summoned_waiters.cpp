#include "stores/redis/summoned_waiters.hpp"

#include <utility>

namespace holdfast::inline v0::redis {

using State = Standing::State;

SummonedWaiters::Summoned& SummonedWaiters::add(const Nonce& nonce, const std::string& resource,
                                                const Lock& /*lock*/) {
    const auto [found, fresh] = summoned_.try_emplace(nonce);
    if (fresh) {
        found->second.contender.resource = resource;
        found->second.order = next_order_++;
        by_resource_[resource].emplace(found->second.order, nonce);
    }
    return found->second;
}

std::optional<Contender> SummonedWaiters::remove(const Nonce& nonce) {
    const Lock lock(mutex_);
    auto node = summoned_.extract(nonce);
    if (node.empty()) return std::nullopt;
    const auto line = by_resource_.find(node.mapped().contender.resource);
    line->second.erase(node.mapped().order);
    if (line->second.empty()) by_resource_.erase(line);
    return std::move(node.mapped().contender);
}

void SummonedWaiters::expect(const Contender& contender, std::uint64_t period) {
    Waiters::expect(contender, period);
    const Lock lock(mutex_);
    Summoned& one = add(contender.nonce, contender.resource, lock);
    one.contender = contender;
    one.lease_end = BootClock::now() + contender.lease;
}

void SummonedWaiters::forget(const Nonce& nonce) {
    Waiters::forget(nonce);
    remove(nonce);
}

std::unique_ptr<Watch> SummonedWaiters::watch(const Ticket& ticket, LineMoved line_moved) {
    auto watch = Waiters::watch(ticket, std::move(line_moved));
    const Lock lock(mutex_);
    add(ticket.nonce, ticket.resource, lock);
    return watch;
}

bool SummonedWaiters::is_over(const Nonce& nonce) const {
    const Lock lock(mutex_);
    const auto found = summoned_.find(nonce);
    return found != summoned_.end() && BootClock::now() >= found->second.lease_end;
}

void SummonedWaiters::settled(const Nonce& nonce, const Standing& standing) {
    if (standing.state == State::waiting || standing.state == State::offered) return;
    Waiters::forget(nonce);
    const auto contender = remove(nonce);
    if (!contender) return;
    const bool took_all = standing.state == State::admitted && contender->weight == all;
    if (!took_all) summon_next(contender->resource);
}

void SummonedWaiters::summon_next(const std::string& resource) {
    if (const auto next = first(resource)) tell(*next, {.state = State::offered});
}

void SummonedWaiters::goes_on(const Nonce& nonce, Moment lease_end) {
    const Lock lock(mutex_);
    const auto found = summoned_.find(nonce);
    if (found != summoned_.end()) found->second.lease_end = lease_end;
}

std::optional<Contender> SummonedWaiters::begin_claim(const Nonce& nonce, std::uint64_t serial) {
    const Lock lock(mutex_);
    const auto found = summoned_.find(nonce);
    if (found == summoned_.end()) return std::nullopt;
    doubtful_[nonce].insert(serial);
    return found->second.contender;
}

void SummonedWaiters::claim_ended(const Nonce& nonce, std::uint64_t serial) {
    const Lock lock(mutex_);
    const auto found = doubtful_.find(nonce);
    if (found == doubtful_.end()) return;
    const auto claim = found->second.find(serial);
    if (claim != found->second.end()) found->second.erase(claim);
    if (found->second.empty()) doubtful_.erase(found);
}

scripted::Departure SummonedWaiters::leave(const Ticket& ticket) {
    auto departure = Waiters::leave(ticket);
    const auto waiter = remove(ticket.nonce);
    if (waiter) departure.waited_for = waiter->resource;
    const Lock lock(mutex_);
    if (waiter || doubtful_.contains(ticket.nonce)) departure.plants_tombstone = true;
    return departure;
}

void SummonedWaiters::left(const scripted::Departure& departure, const Result<Standing>& result) {
    if (result.ok() && departure.plants_tombstone) {
        // The tombstone refuses whatever may still come.
        const Lock lock(mutex_);
        doubtful_.erase(departure.nonce);
    }
    if (departure.waited_for) summon_next(*departure.waited_for);
}

std::optional<Nonce> SummonedWaiters::first(const std::string& resource) const {
    const Lock lock(mutex_);
    const auto line = by_resource_.find(resource);
    if (line == by_resource_.end()) return std::nullopt;
    return line->second.begin()->second;
}

bool SummonedWaiters::is_waiting(const Nonce& nonce) const {
    const Lock lock(mutex_);
    return summoned_.contains(nonce);
}

}  // namespace holdfast::inline v0::redis
