#include "stores/listed/entrants.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace holdfast::inline v0::listed {

std::string text_of(const Incarnation& incarnation) {
    return std::to_string(incarnation.session) + " " + std::to_string(incarnation.made_by) + " " +
           incarnation.node;
}

std::optional<Incarnation> incarnation_in(std::string_view place) {
    Incarnation incarnation;
    const char* const end = place.data() + place.size();
    const auto session = std::from_chars(place.data(), end, incarnation.session);
    if (session.ec != std::errc{} || session.ptr == end) return std::nullopt;
    const auto made_by = std::from_chars(session.ptr + 1, end, incarnation.made_by);
    if (made_by.ec != std::errc{} || made_by.ptr == end) return std::nullopt;
    incarnation.node.assign(made_by.ptr + 1, end);
    return incarnation;
}

void Entrants::add(Entrant entrant) {
    const std::lock_guard guard(mutex_);
    put(std::move(entrant));
}

bool Entrants::replace(Entrant entrant) {
    const std::lock_guard guard(mutex_);
    if (known(entrant.nonce()) == nullptr) return false;
    put(std::move(entrant));
    return true;
}

void Entrants::put(Entrant entrant) {
    next_lapse_ = std::min(next_lapse_, entrant.lease_end);
    const Nonce nonce = entrant.nonce();
    const auto known = entrants_.find(nonce);
    if (known != entrants_.end()) forget_watches(known->second);
    for (const std::string& node : entrant.watched) waiting_for_[node].insert(nonce);
    entrants_.insert_or_assign(nonce, std::move(entrant));
}

Entrant* Entrants::known(const Nonce& nonce) {
    const auto found = entrants_.find(nonce);
    return found == entrants_.end() ? nullptr : &found->second;
}

/// It may have come again since, with another place.
Entrant* Entrants::known_as(const Entrant& seen) {
    Entrant* const entrant = known(seen.nonce());
    return entrant != nullptr && entrant->fence == seen.fence ? entrant : nullptr;
}

std::optional<Entrant> Entrants::find(const Nonce& nonce) const {
    const std::lock_guard guard(mutex_);
    const auto found = entrants_.find(nonce);
    if (found == entrants_.end()) return std::nullopt;
    return found->second;
}

std::optional<Entrant> Entrants::remove(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    if (known(nonce) == nullptr) return std::nullopt;
    return take(entrants_.find(nonce));
}

std::optional<Entrant> Entrants::remove(const Entrant& seen) {
    const std::lock_guard guard(mutex_);
    if (known_as(seen) == nullptr) return std::nullopt;
    return take(entrants_.find(seen.nonce()));
}

Entrant Entrants::take(ByNonce::iterator place) {
    Entrant entrant = std::move(place->second);
    entrants_.erase(place);
    forget_watches(entrant);
    return entrant;
}

template <class Concerned>
std::vector<Entrant> Entrants::take_if(const Concerned& concerned) {
    std::vector<Entrant> taken;
    for (auto place = entrants_.begin(); place != entrants_.end();) {
        const auto current = place++;
        if (concerned(current->second)) taken.push_back(take(current));
    }
    return taken;
}

void Entrants::forget_watches(const Entrant& entrant) {
    for (const std::string& node : entrant.watched) {
        const auto found = waiting_for_.find(node);
        if (found == waiting_for_.end()) continue;
        found->second.erase(entrant.nonce());
        if (found->second.empty()) waiting_for_.erase(found);
    }
}

bool Entrants::admit(const Entrant& seen) {
    const std::lock_guard guard(mutex_);
    Entrant* const entrant = known_as(seen);
    if (entrant == nullptr) return false;
    forget_watches(*entrant);
    entrant->watched.clear();
    entrant->next = false;
    entrant->listed_at = 0;
    entrant->admitted = true;
    return true;
}

void Entrants::wait_for(const Entrant& placed) {
    const std::lock_guard guard(mutex_);
    Entrant* const entrant = known(placed.nonce());
    if (entrant == nullptr) return;
    forget_watches(*entrant);
    entrant->watched = placed.watched;
    entrant->by_change = placed.by_change;
    entrant->disagreed = placed.disagreed;
    entrant->next = placed.next;
    entrant->listed_at = placed.listed_at;
    for (const std::string& node : entrant->watched) waiting_for_[node].insert(placed.nonce());
}

bool Entrants::begin_renewal(const Nonce& nonce, std::uint64_t serial) {
    const std::lock_guard guard(mutex_);
    Entrant* const entrant = known(nonce);
    if (entrant == nullptr || serial < entrant->serial) return false;
    entrant->serial = serial;
    return true;
}

bool Entrants::renewed(const Nonce& nonce, std::uint64_t serial, Moment lease_end) {
    const std::lock_guard guard(mutex_);
    Entrant* const entrant = known(nonce);
    if (entrant == nullptr) return false;
    // What was answered is trusted, whatever has begun since: it is not to be taken out before.
    const bool is_latest = serial >= entrant->serial;
    entrant->lease_end = is_latest ? lease_end : std::max(entrant->lease_end, lease_end);
    next_lapse_ = std::min(next_lapse_, entrant->lease_end);
    return true;
}

void Entrants::unsettle(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    if (Entrant* const entrant = known(nonce)) entrant->unsettled = true;
}

void Entrants::moved(const Nonce& nonce, std::int64_t session, std::int64_t written_at) {
    const std::lock_guard guard(mutex_);
    if (Entrant* const entrant = bind(nonce, session, written_at)) entrant->unsettled = false;
}

void Entrants::found_bound(const Nonce& nonce, std::int64_t session, std::int64_t written_at) {
    const std::lock_guard guard(mutex_);
    bind(nonce, session, written_at);
}

Entrant* Entrants::bind(const Nonce& nonce, std::int64_t session, std::int64_t written_at) {
    Entrant* const entrant = known(nonce);
    if (entrant == nullptr || written_at < entrant->written_at) return nullptr;
    entrant->session = session;
    entrant->written_at = written_at;
    return entrant;
}

void Entrants::written(const Nonce& nonce, std::int64_t written_at) {
    const std::lock_guard guard(mutex_);
    Entrant* const entrant = known(nonce);
    if (entrant != nullptr) entrant->written_at = std::max(entrant->written_at, written_at);
}

std::vector<Nonce> Entrants::stir(const std::string& node, NodeEvent event,
                                  std::optional<std::int64_t> session) {
    const bool ended = event == NodeEvent::ended;
    const std::lock_guard guard(mutex_);
    const auto found = waiting_for_.find(node);
    if (found == waiting_for_.end()) return {};
    std::vector<Nonce> nonces;
    for (const Nonce& nonce : found->second) {
        Entrant& entrant = entrants_.at(nonce);
        if (session && entrant.session != 0 && entrant.session != *session) continue;
        const bool own = entrant.node == node;
        entrant.stirred = true;
        entrant.by_list = entrant.by_list || (own && !ended);
        const bool came_to_its_turn = ended && entrant.next && !own && entrant.own_is_watched;
        entrant.its_turn = !entrant.by_list && (entrant.its_turn || came_to_its_turn);
        nonces.push_back(nonce);
    }
    return nonces;
}

void Entrants::is_watched(const std::string& node, std::int64_t session) {
    const std::lock_guard guard(mutex_);
    const auto found = waiting_for_.find(node);
    if (found == waiting_for_.end()) return;
    for (const Nonce& nonce : found->second) {
        Entrant& entrant = entrants_.at(nonce);
        if (entrant.node == node && entrant.session == session) entrant.own_is_watched = true;
    }
}

bool Entrants::is_awaited(const std::string& node) const {
    const std::lock_guard guard(mutex_);
    return waiting_for_.contains(node);
}

bool Entrants::take_stir(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    Entrant* const entrant = known(nonce);
    return entrant != nullptr && std::exchange(entrant->stirred, false);
}

std::vector<Entrant> Entrants::take_lapsed(Moment now) {
    const std::lock_guard guard(mutex_);
    if (now < next_lapse_) return {};
    next_lapse_ = Moment::max();
    return take_if([&](const Entrant& entrant) {
        if (entrant.lease_end <= now) return true;
        next_lapse_ = std::min(next_lapse_, entrant.lease_end);
        return false;
    });
}

std::vector<Entrant> Entrants::take_of_session(std::int64_t session) {
    const std::lock_guard guard(mutex_);
    return take_if([&](const Entrant& entrant) { return entrant.session == session; });
}

std::vector<Entrant> Entrants::take_longer(std::int64_t session, std::chrono::milliseconds lease) {
    const std::lock_guard guard(mutex_);
    return take_if([&](Entrant& entrant) {
        if (entrant.session != session || entrant.contender.lease <= lease) return false;
        if (entrant.admitted) entrant.session = 0;
        return !entrant.admitted;
    });
}

}  // namespace holdfast::inline v0::listed
