#include "stores/redlock/quorum.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::inline v0::redlock {

namespace {

using namespace std::chrono_literals;
using Kind = Vote::Kind;

/// How far a proposal is ahead of the clocks that are known: what they may have run on by more than
/// our own, and what they differ by.
constexpr std::chrono::microseconds head_start = 1ms;

constexpr std::chrono::nanoseconds shortest_window = 1ms;
constexpr std::chrono::nanoseconds longest_window = 1s;

std::chrono::microseconds time_of(Moment now) {
    return std::chrono::floor<std::chrono::microseconds>(now.time_since_epoch());
}

/// Silence is what is known of those who have not answered.
void silence(Vote& vote) {
    if (vote.kind == Kind::none) vote.kind = Kind::silent;
}

}  // namespace

// Entering ----------------------------------------------------------------------------------------

Ballot::Ballot(Terms terms, std::chrono::milliseconds lease, Moment sent)
    : terms_(terms), lease_(lease), sent_(sent), nodes_(terms.nodes) {}

void Ballot::entered(std::size_t node, const Vote& vote) {
    if (nodes_[node].vote.kind != Kind::none) return;
    nodes_[node].vote = vote;
    agree_on_fence();
}

void Ballot::wrote_back(std::size_t node, const Vote& vote) {
    Node& one = nodes_[node];
    if (one.storing != Storing::asked || given_up_) return;
    if (vote.kind == Kind::admitted || vote.kind == Kind::gone) one.vote = vote;
    if (!stores(one)) one.storing = Storing::refused;
    agree_on_fence();
}

void Ballot::give_up() {
    given_up_ = true;
    for (Node& node : nodes_) silence(node.vote);
    agree_on_fence();
}

/// Of what the nodes have answered: a fence that a majority stores, or still may.
void Ballot::agree_on_fence() {
    while (true) {
        if (fence_ == 0) fence_ = highest_fence().value_or(0);
        if (fence_ == 0) return;
        const auto possible = count_if([this](const Node& one) { return may_store(one); });
        if (possible >= terms_.majority()) return;
        discount(std::exchange(fence_, 0));
    }
}

/// Nothing while no majority has let it in.
std::optional<std::uint64_t> Ballot::highest_fence() const {
    std::uint64_t highest = 0;
    for (const Node& node : nodes_) {
        if (has_let_in(node)) highest = std::max(highest, node.vote.fence);
    }
    if (count_if([this](const Node& one) { return has_let_in(one); }) < terms_.majority()) {
        return std::nullopt;
    }
    return highest;
}

void Ballot::discount(std::uint64_t fence) {
    for (Node& node : nodes_) {
        node.discounted |= node.vote.kind == Kind::admitted && node.vote.fence >= fence;
        node.storing = Storing::no;
    }
}

bool Ballot::has_let_in(const Node& node) const {
    return node.vote.kind == Kind::admitted && !node.discounted;
}

bool Ballot::stores(const Node& node) const {
    return fence_ != 0 && has_let_in(node) && node.vote.fence >= fence_;
}

bool Ballot::may_store(const Node& node) const {
    const bool may_let_in = node.vote.kind == Kind::none || has_let_in(node);
    const bool may_be_asked = !given_up_ && node.storing != Storing::refused;
    return stores(node) || (may_let_in && may_be_asked);
}

std::vector<std::size_t> Ballot::write_backs() {
    std::vector<std::size_t> those;
    if (fence_ == 0 || decision(sent_) != Decision::open) return those;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        Node& node = nodes_[i];
        if (!has_let_in(node) || stores(node) || node.storing != Storing::no) continue;
        node.storing = Storing::asked;
        those.push_back(i);
    }
    return those;
}

Decision Ballot::decision(Moment now) const {
    const auto storing = count_if([this](const Node& one) { return stores(one); });
    if (storing >= terms_.majority()) {
        return now < counted_from() + lease_ ? Decision::admitted : Decision::late;
    }
    const auto possible = count_if([this](const Node& one) { return may_store(one); });
    if (possible >= terms_.majority()) return Decision::open;
    if (has_rival_with_majority()) return Decision::held;
    if (count(Kind::busy) == 0) return Decision::too_few;
    // Whether others are in the way, or there is no majority at all, those decide who may yet say.
    const auto have_said = count(Kind::admitted) + count(Kind::busy);
    if (have_said >= terms_.majority()) return Decision::contested;
    const bool may_be = have_said + count(Kind::none) >= terms_.majority();
    return may_be ? Decision::open : Decision::too_few;
}

bool Ballot::has_rival_with_majority() const {
    return std::ranges::any_of(nodes_, [this](const Node& node) {
        return node.vote.kind == Kind::busy && count_if([&](const Node& other) {
                                                   return other.vote.kind == Kind::busy &&
                                                          other.vote.rival == node.vote.rival;
                                               }) >= terms_.majority();
    });
}

std::size_t Ballot::count(Kind kind) const {
    return count_if([kind](const Node& node) { return node.vote.kind == kind; });
}

template <class Condition>
std::size_t Ballot::count_if(Condition condition) const {
    return static_cast<std::size_t>(std::ranges::count_if(nodes_, condition));
}

std::chrono::milliseconds Ballot::until_free() const {
    std::vector<std::chrono::milliseconds> waits;
    std::size_t free = 0;
    for (const Node& node : nodes_) {
        const Kind kind = node.vote.kind;
        if (kind == Kind::busy || kind == Kind::forgetful) waits.push_back(node.vote.after);
        if (kind == Kind::admitted) ++free;
    }
    if (free >= terms_.majority() || waits.empty()) return 0ms;
    std::ranges::sort(waits);
    return waits[std::min(terms_.majority() - free, waits.size()) - 1];
}

// Afterwards --------------------------------------------------------------------------------------

Tally::Tally(Terms terms) : terms_(terms), votes_(terms.nodes) {}

void Tally::take(std::size_t node, const Vote& vote) {
    if (votes_[node].kind == Kind::none) votes_[node] = vote;
}

void Tally::give_up() {
    std::ranges::for_each(votes_, silence);
}

Decision Tally::decision() const {
    if (count(Kind::admitted) >= terms_.majority()) return Decision::admitted;
    const auto unknown = count(Kind::none) + count(Kind::silent) + count(Kind::forgetful);
    if (count(Kind::admitted) + unknown < terms_.majority()) return Decision::gone;
    return count(Kind::none) > 0 ? Decision::open : Decision::too_few;
}

std::size_t Tally::count(Kind kind) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(votes_, [kind](const Vote& vote) { return vote.kind == kind; }));
}

// Proposing ---------------------------------------------------------------------------------------

Proposals::Proposals(Terms terms) : terms_(terms), ahead_(terms.nodes) {}

void Proposals::heard(std::size_t node, std::chrono::microseconds clock, Moment now) {
    ahead_[node] = clock - time_of(now);
}

std::uint64_t Proposals::next(Moment now) const {
    std::vector<std::chrono::microseconds> known;
    for (const auto& one : ahead_) {
        if (one) known.push_back(*one);
    }
    if (known.empty()) return 0;
    std::ranges::sort(known);
    // Nodes refuse what is half of max_lease ahead: no clock that is alone may lead so far.
    const auto limit = known[(known.size() - 1) / 2] + terms_.max_lease / 4;
    const auto highest = std::prev(std::ranges::upper_bound(known, limit));
    return static_cast<std::uint64_t>((time_of(now) + *highest + head_start).count());
}

std::chrono::nanoseconds back_off(unsigned tries, std::chrono::nanoseconds flight,
                                  std::uint64_t random) {
    auto window = std::clamp(2 * flight, shortest_window, longest_window);
    for (unsigned i = 0; i < tries && window < longest_window; ++i) window *= 2;
    window = std::min(window, longest_window);
    return std::chrono::nanoseconds{random % static_cast<std::uint64_t>(window.count())};
}

}  // namespace holdfast::inline v0::redlock
