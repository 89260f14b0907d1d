#include "stores/redlock/desk.hpp"

#include <algorithm>

#include "port/clock.hpp"

namespace holdfast::inline v0::redlock {

Heard Acquaintance::heard(std::size_t node, const redis::Answer& answer) {
    const Heard heard = heard_in(answer);
    const Moment now = BootClock::now();
    const std::lock_guard guard(mutex_);
    if (heard.clock) proposals_.heard(node, *heard.clock, now);
    troubles_[node].reset();
    if (!answer.result.ok()) troubles_[node] = answer.result.failure();
    note_terms(node, heard.vote);
    return heard;
}

/// Whoever is let in or refused by others there has been asked for it. That one is gone is said
/// without.
void Acquaintance::note_terms(std::size_t node, const Vote& vote) {
    const bool agrees = vote.kind == Vote::Kind::admitted || vote.kind == Vote::Kind::busy ||
                        vote.kind == Vote::Kind::forgetful;
    if (agrees) agreed_[node] = {};
    if (vote.kind == Vote::Kind::disagreed) agreed_[node] = vote.after;
}

std::chrono::milliseconds Acquaintance::max_lease_of_others() const {
    const std::lock_guard guard(mutex_);
    return std::ranges::max(agreed_);
}

std::uint64_t Acquaintance::proposal() const {
    const std::lock_guard guard(mutex_);
    return proposals_.next(BootClock::now());
}

std::optional<Failure> Acquaintance::trouble_with(std::size_t node) const {
    const std::lock_guard guard(mutex_);
    return troubles_[node];
}

std::chrono::nanoseconds grace_for(const Desk& desk, std::span<const std::size_t> others,
                                   Moment began) {
    using namespace std::chrono_literals;
    const auto is_in_trouble = [&](std::size_t node) { return desk.wire.is_in_trouble(node); };
    if (std::ranges::all_of(others, is_in_trouble)) return 0ns;
    // Of a machine that is busy, an answer may be later than the others by a few of its time
    // slices.
    return std::clamp<std::chrono::nanoseconds>(4 * (BootClock::now() - began), 30ms, 1s);
}

}  // namespace holdfast::inline v0::redlock
