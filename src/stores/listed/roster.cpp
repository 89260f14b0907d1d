#include "stores/listed/roster.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace holdfast::inline v0::listed {

namespace {

/// As long as a request can be late.
constexpr std::chrono::minutes burial_time{1};

}  // namespace

Ticket Member::ticket() const {
    const PlaceText place{session, static_cast<std::int64_t>(fence), node};
    return {contender.resource, contender.nonce, text_of(place)};
}

std::string text_of(const PlaceText& place) {
    return std::to_string(place.session) + " " + std::to_string(place.made_by) + " " + place.node;
}

std::optional<PlaceText> place_in(std::string_view text) {
    PlaceText place;
    const char* const end = text.data() + text.size();
    const auto session = std::from_chars(text.data(), end, place.session);
    if (session.ec != std::errc{} || session.ptr == end) return std::nullopt;
    const auto made_by = std::from_chars(session.ptr + 1, end, place.made_by);
    if (made_by.ec != std::errc{} || made_by.ptr == end) return std::nullopt;
    place.node.assign(made_by.ptr + 1, end);
    return place;
}

void Roster::add(Member member) {
    const std::lock_guard guard(mutex_);
    next_lapse_ = std::min(next_lapse_, member.lease_end);
    const Nonce nonce = member.nonce();
    const auto known = members_.find(nonce);
    if (known != members_.end()) forget_watches(known->second);
    for (const std::string& node : member.watched) waiting_for_[node].insert(nonce);
    members_.insert_or_assign(nonce, std::move(member));
}

std::optional<Member> Roster::find(const Nonce& nonce) const {
    const std::lock_guard guard(mutex_);
    const auto found = members_.find(nonce);
    if (found == members_.end()) return std::nullopt;
    return found->second;
}

std::optional<Member> Roster::remove(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    const auto found = members_.find(nonce);
    if (found == members_.end()) return std::nullopt;
    return take(found);
}

std::optional<Member> Roster::remove(const Member& seen) {
    const std::lock_guard guard(mutex_);
    const auto found = members_.find(seen.nonce());
    if (found == members_.end() || found->second.fence != seen.fence) return std::nullopt;
    return take(found);
}

Member Roster::take(Members::iterator place) {
    Member member = std::move(place->second);
    members_.erase(place);
    forget_watches(member);
    return member;
}

void Roster::forget_watches(const Member& member) {
    for (const std::string& node : member.watched) {
        const auto found = waiting_for_.find(node);
        if (found == waiting_for_.end()) continue;
        found->second.erase(member.nonce());
        if (found->second.empty()) waiting_for_.erase(found);
    }
}

bool Roster::admit(const Member& seen) {
    const std::lock_guard guard(mutex_);
    const auto found = members_.find(seen.nonce());
    // It may have come again since, with another place.
    if (found == members_.end() || found->second.fence != seen.fence) return false;
    Member& member = found->second;
    forget_watches(member);
    member.watched.clear();
    member.next = false;
    member.listed_at = 0;
    member.admitted = true;
    return true;
}

void Roster::wait_for(const Nonce& nonce, std::vector<std::string> nodes, bool next,
                      std::int64_t listed_at) {
    const std::lock_guard guard(mutex_);
    const auto found = members_.find(nonce);
    if (found == members_.end()) return;
    Member& member = found->second;
    forget_watches(member);
    member.watched = std::move(nodes);
    member.next = next;
    member.listed_at = listed_at;
    for (const std::string& node : member.watched) waiting_for_[node].insert(nonce);
}

bool Roster::renewed(const Nonce& nonce, Moment lease_end) {
    const std::lock_guard guard(mutex_);
    const auto found = members_.find(nonce);
    if (found == members_.end()) return false;
    found->second.lease_end = lease_end;
    next_lapse_ = std::min(next_lapse_, lease_end);
    return true;
}

bool Roster::begin_renewal(const Nonce& nonce, std::uint64_t serial) {
    const std::lock_guard guard(mutex_);
    const auto found = members_.find(nonce);
    if (found == members_.end() || serial < found->second.serial) return false;
    found->second.serial = serial;
    return true;
}

void Roster::unsettle(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    const auto found = members_.find(nonce);
    if (found != members_.end()) found->second.unsettled = true;
}

void Roster::moved(const Nonce& nonce, std::int64_t session, std::int64_t written_at) {
    const std::lock_guard guard(mutex_);
    const auto found = members_.find(nonce);
    if (found == members_.end() || written_at < found->second.written_at) return;
    found->second.session = session;
    found->second.written_at = written_at;
    found->second.unsettled = false;
}

void Roster::found_bound(const Nonce& nonce, std::int64_t session, std::int64_t written_at) {
    const std::lock_guard guard(mutex_);
    const auto found = members_.find(nonce);
    if (found == members_.end() || written_at < found->second.written_at) return;
    found->second.session = session;
    found->second.written_at = written_at;
}

void Roster::written(const Nonce& nonce, std::int64_t written_at) {
    const std::lock_guard guard(mutex_);
    const auto found = members_.find(nonce);
    if (found == members_.end()) return;
    found->second.written_at = std::max(found->second.written_at, written_at);
}

std::vector<Nonce> Roster::stir(const std::string& node, bool ended,
                                std::optional<std::int64_t> session) {
    const std::lock_guard guard(mutex_);
    const auto found = waiting_for_.find(node);
    if (found == waiting_for_.end()) return {};
    std::vector<Nonce> nonces;
    for (const Nonce& nonce : found->second) {
        Member& member = members_.at(nonce);
        if (session && member.session != 0 && member.session != *session) continue;
        member.stirred = true;
        member.its_turn = member.its_turn || (ended && member.next && member.node != node);
        nonces.push_back(nonce);
    }
    return nonces;
}

bool Roster::is_awaited(const std::string& node) const {
    const std::lock_guard guard(mutex_);
    return waiting_for_.contains(node);
}

bool Roster::take_stir(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    const auto found = members_.find(nonce);
    return found != members_.end() && std::exchange(found->second.stirred, false);
}

std::vector<Member> Roster::take_lapsed(Moment now) {
    const std::lock_guard guard(mutex_);
    std::vector<Member> lapsed;
    if (now < next_lapse_) return lapsed;
    next_lapse_ = Moment::max();
    for (auto place = members_.begin(); place != members_.end();) {
        const auto current = place++;
        if (current->second.lease_end <= now) {
            lapsed.push_back(take(current));
        } else {
            next_lapse_ = std::min(next_lapse_, current->second.lease_end);
        }
    }
    return lapsed;
}

std::vector<Member> Roster::take_of_session(std::int64_t session) {
    const std::lock_guard guard(mutex_);
    std::vector<Member> over;
    for (auto place = members_.begin(); place != members_.end();) {
        const auto current = place++;
        if (current->second.session == session) over.push_back(take(current));
    }
    return over;
}

std::vector<Member> Roster::take_longer(std::int64_t session, std::chrono::milliseconds lease) {
    const std::lock_guard guard(mutex_);
    std::vector<Member> taken;
    for (auto place = members_.begin(); place != members_.end();) {
        const auto current = place++;
        Member& member = current->second;
        if (member.session != session || member.contender.lease <= lease) continue;
        if (member.admitted) {
            member.session = 0;
        } else {
            taken.push_back(take(current));
        }
    }
    return taken;
}

void Roster::bury(const Nonce& nonce, Moment now) {
    const std::lock_guard guard(mutex_);
    std::erase_if(buried_, [&](const auto& one) { return one.second <= now; });
    buried_[nonce] = now + burial_time;
}

bool Roster::is_buried(const Nonce& nonce) const {
    const std::lock_guard guard(mutex_);
    return buried_.contains(nonce);
}

}  // namespace holdfast::inline v0::listed
