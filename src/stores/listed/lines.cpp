#include "stores/listed/lines.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "stores/listed/first_exception.hpp"

namespace holdfast::inline v0::listed {

namespace {

using State = Standing::State;
using Verdict = Judgement::Verdict;

/// So that it is known when a contender ends before its turn, its own node is watched too; and
/// first, so that nothing ended before it that is told after it.
std::vector<std::string> watched_by(const std::string& own, const Judgement& judgement) {
    std::vector<std::string> nodes{own};
    nodes.insert(nodes.end(), judgement.watched.begin(), judgement.watched.end());
    return nodes;
}

}  // namespace

void Lines::tidy() {
    const Moment now = BootClock::now();
    FirstException first;
    first.of([&] { take_back(entrants.take_lapsed(now)); });
    first.of([&] {
        for (const Removal& removal : removals_.take_due(now)) {
            first.of([&] { remove_again(removal); });
        }
    });
    first.of([&] { server_.tidy(now); });
    first.rethrow();
}

void Lines::remove_again(const Removal& removal) {
    if (server_.is_over(removal)) return removals_.settled(removal);
    ask_to_remove(removal);
}

/// Where it cannot even be asked for, it is so later.
void Lines::ask_to_remove(const Removal& removal) {
    try {
        server_.remove(removal);
    } catch (...) {
        removal_unanswered(removal);
        throw;
    }
}

std::unique_ptr<Watch> Lines::watch(const Nonce& nonce, LineMoved line_moved) {
    auto watch = watchers_->add(nonce, std::move(line_moved));
    if (!entrants.find(nonce)) {
        watchers_->call(nonce, {});
        return watch;
    }
    arm(nonce);
    // What stirred before somebody watched.
    if (entrants.take_stir(nonce)) watchers_->call(nonce, {.state = State::waiting});
    return watch;
}

void Lines::arm(const Nonce& nonce) {
    if (!watchers_->watches(nonce)) return;
    if (const auto entrant = entrants.find(nonce)) server_.watch(*entrant);
}

void Lines::stir(const std::string& node, NodeEvent event, std::optional<std::int64_t> session,
                 const Standing& told) {
    for (const Nonce& nonce : entrants.stir(node, event, session)) {
        const auto entrant = entrants.find(nonce);
        if (event == NodeEvent::ended && entrant && has_lost_its_node(*entrant, node)) {
            was_ended(*entrant);
            continue;
        }
        if (!watchers_->watches(nonce)) continue;
        if (entrants.take_stir(nonce)) watchers_->call(nonce, told);
    }
}

/// Somebody has taken it out of line: whoever goes ahead of it is nothing to it any more. Where a
/// name is used again it is perhaps no longer what ended, but what the contender has got since.
bool Lines::has_lost_its_node(const Entrant& entrant, const std::string& node) const {
    return entrant.node == node && server_.goes_by_events(entrant);
}

void Lines::was_ended(const Entrant& entrant) {
    // It may have come again since.
    const auto lost = entrants.remove(entrant);
    if (!lost) return;
    unwatch(*lost);
    tell_gone(*lost);
}

void Lines::stir_all() {
    for (const Nonce& nonce : watchers_->watched()) {
        watchers_->call(nonce, {.state = State::waiting});
    }
}

void Lines::place(Entrant& entrant, const Judgement& judgement, std::int64_t listed_at) const {
    entrant.watched = watched_by(entrant.node, judgement);
    entrant.by_change = judgement.by_change;
    entrant.disagreed = entrant.disagreed || judgement.verdict == Verdict::conflict;
    entrant.listed_at = listed_at;
    entrant.next = judgement.next && server_.goes_by_events(entrant);
}

Standing Lines::stands(const Entrant& entrant, std::span<const Neighbour> line,
                       std::int64_t listed_at) {
    const auto judgement = judge(line, entrant.node);
    // Whoever went ahead of one that is not there itself is nothing to it.
    if (entrant.its_turn && judgement.verdict != Verdict::absent) return admit(entrant);
    switch (judgement.verdict) {
        case Verdict::admitted:
            return admit(entrant);
        case Verdict::conflict:
            leave_behind(entrant, judgement.barred_by);
            [[fallthrough]];
        case Verdict::waits:
            wait(entrant, judgement, listed_at);
            return {.state = State::waiting};
        case Verdict::absent:
            break;
    }
    was_lost(entrant);
    return {};
}

void Lines::was_lost(const Entrant& seen) {
    // It may have come again since.
    const auto lost = entrants.remove(seen);
    if (!lost) return;
    unwatch(*lost);
    server_.was_taken_out(*lost);
}

void Lines::wait(const Entrant& entrant, const Judgement& judgement, std::int64_t listed_at) {
    Entrant placed = entrant;
    place(placed, judgement, listed_at);
    entrants.wait_for(placed);
    unwatch(entrant);
    arm(entrant.nonce());
}

/// It was told to wait, and disagrees with whoever is the first by now. While that one is there it
/// leaves, and is told so; when it comes again, it is refused. Else it waits, and looks again.
void Lines::leave_behind(const Entrant& entrant, const Neighbour& other) {
    server_.take_out_behind(entrant, other, [this, entrant] {
        const auto left = entrants.remove(entrant);
        if (!left) return;
        unwatch(*left);
        server_.was_taken_out(*left);
        tell_gone(*left);
    });
}

Standing Lines::admit(const Entrant& seen) {
    if (!entrants.admit(seen)) return {};
    unwatch(seen);
    if (!seen.admitted) tell_those_behind(seen);
    return {.state = State::admitted, .fence = seen.fence};
}

void Lines::admitted_at_once(Entrant& entrant, std::span<const Neighbour> line) {
    const auto own = std::ranges::find(line, entrant.node, &Neighbour::node);
    const bool is_last = std::next(own) == line.end();
    const auto disagrees = [&](const Neighbour& one) {
        return one.capacity != entrant.contender.capacity;
    };
    entrant.admitted = true;
    entrant.disagreed = entrant.disagreed || std::any_of(own, line.end(), disagrees);
    if (!is_last || entrant.disagreed) tell_those_behind(entrant);
}

/// Those with permits look at the one before them alone, until it is admitted. And whoever waits
/// behind one that disagrees with the first waits for that to leave: now it will not.
void Lines::tell_those_behind(const Entrant& entrant) {
    if (entrant.contender.capacity != all || entrant.disagreed) server_.tell_those_behind(entrant);
}

std::optional<Entrant> Lines::forget(const Nonce& nonce) {
    auto entrant = entrants.remove(nonce);
    if (entrant) unwatch(*entrant);
    return entrant;
}

/// What nobody else waits for. Somebody who does since may have found it watched: he looks again.
void Lines::unwatch(const Entrant& entrant) {
    for (const std::string& node : entrant.watched) {
        if (entrants.is_awaited(node)) continue;
        server_.unwatch(node);
        if (entrants.is_awaited(node)) stir(node, NodeEvent::changed);
    }
}

void Lines::take_back(const std::vector<Entrant>& taken) {
    FirstException first;
    for (const Entrant& entrant : taken) {
        first.of([&] { unwatch(entrant); });
        first.of([&] { server_.take_back(entrant); });
        first.of([&] { tell_gone(entrant); });
    }
    first.rethrow();
}

void Lines::session_over(std::int64_t session) {
    FirstException first;
    for (const Entrant& entrant : entrants.take_of_session(session)) {
        first.of([&] { unwatch(entrant); });
        first.of([&] { server_.outlived(entrant); });
        first.of([&] { tell_gone(entrant); });
    }
    first.rethrow();
}

void Lines::remove(const Removal& removal) {
    removals_.add_under_way(removal);
    ask_to_remove(removal);
}

void Lines::removal_unanswered(const Removal& removal) {
    removals_.unanswered(removal, BootClock::now());
}

}  // namespace holdfast::inline v0::listed
