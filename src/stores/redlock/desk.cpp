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
    note_agreement(node, heard, now);
    return heard;
}

Acquaintance::Agreement::Since Acquaintance::since(const Heard::Ages& ages, Moment now) {
    return {.counted = now - ages.counted, .named = now - ages.named};
}

/// Whoever is let in or refused by others there has been asked for it. That one is gone is said
/// without. A node that is not heard may have been emptied.
void Acquaintance::note_agreement(std::size_t node, const Heard& heard, Moment now) {
    Agreement& one = agreements_[node];
    switch (heard.vote.kind) {
        case Vote::Kind::admitted:
        case Vote::Kind::busy:
            // A renewal and a leave tell nothing of it.
            if (heard.ages) one = {.since = since(*heard.ages, now)};
            return;
        case Vote::Kind::disagreed:
        case Vote::Kind::other_set:
            one = {.objection = heard.vote,
                   .since = since(heard.ages.value_or(Heard::Ages{}), now)};
            return;
        case Vote::Kind::forgetful:
            one = {};
            return;
        case Vote::Kind::silent:
            if (!one.objection) one = {};
            return;
        default:
            return;
    }
}

/// One node is enough, for those that have forgotten everything agree with whoever comes first. But
/// so does one that was emptied alone: a majority that knows better says that this is so.
std::optional<Vote> Acquaintance::objection() const {
    const Moment now = BootClock::now();
    const std::lock_guard guard(mutex_);
    for (const Agreement& one : agreements_) {
        if (one.objection && !is_outweighed(one, now)) return one.objection;
    }
    return std::nullopt;
}

/// Where a majority has counted for as long as any lease of the others is, none of these goes on.
/// Which nodes there are was said wrongly where it was said later; by far, for clocks differ. That
/// outlives restarts: a node that is started again is not one to which the others came before.
bool Acquaintance::is_outweighed(const Agreement& other, Moment now) const {
    const bool is_of_leases = other.objection->kind == Vote::Kind::disagreed;
    const Moment needed =
        is_of_leases ? now - other.objection->after : other.since->named - terms_.max_lease;
    const auto counts = [&](const Agreement& one) {
        if (one.objection || !one.since) return false;
        return (is_of_leases ? one.since->counted : one.since->named) <= needed;
    };
    return static_cast<std::size_t>(std::ranges::count_if(agreements_, counts)) >=
           terms_.majority();
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
