#include "stores/listed/judgement.hpp"

#include <algorithm>
#include <iterator>

#include "port/admission.hpp"

namespace holdfast::inline v0::listed {

namespace {

using Verdict = Judgement::Verdict;

std::vector<InLine> as_in_line(std::span<const Neighbour> line) {
    std::vector<InLine> weights;
    weights.reserve(line.size());
    for (const Neighbour& one : line) weights.push_back({.weight = one.weight});
    return weights;
}

/// The nearest ahead that uses the resource as something else; nothing when all agree.
const Neighbour* nearest_that_disagrees(std::span<const Neighbour> ahead, const Neighbour& self) {
    const auto disagrees = [&](const Neighbour& one) { return one.capacity != self.capacity; };
    const auto found = std::find_if(ahead.rbegin(), ahead.rend(), disagrees);
    return found == ahead.rend() ? nullptr : &*found;
}

/// The nearest ahead that leaves no room for it, whoever else goes.
const Neighbour* nearest_in_the_way(std::span<const Neighbour> ahead, const Neighbour& self) {
    const auto in_the_way = [&](const Neighbour& one) {
        return one.weight > self.capacity - self.weight;
    };
    const auto found = std::find_if(ahead.rbegin(), ahead.rend(), in_the_way);
    return found == ahead.rend() ? nullptr : &*found;
}

/// The last of those at the front that agree with the first: while it is there, the first is one of
/// them.
const Neighbour& last_that_agrees_with_first(std::span<const Neighbour> line) {
    const auto disagrees = [&](const Neighbour& one) { return one.capacity != line[0].capacity; };
    return *std::prev(std::ranges::find_if(line, disagrees));
}

/// Of permits, when no one ahead is in the way alone: the first that waits looks at all holders,
/// the others at the one before them, which says so when it is admitted.
std::vector<std::string> watched_by_permits(std::span<const Neighbour> ahead) {
    if (admitted_in(ahead) < ahead.size()) return {ahead.back().node};
    std::vector<std::string> nodes;
    nodes.reserve(ahead.size());
    for (const Neighbour& one : ahead) nodes.push_back(one.node);
    return nodes;
}

}  // namespace

Judgement judge(std::span<const Neighbour> line, std::string_view node) {
    const auto found = std::ranges::find(line, node, &Neighbour::node);
    if (found == line.end()) return {};
    const Neighbour& self = *found;
    const auto index = static_cast<std::size_t>(found - line.begin());
    const auto ahead = line.first(index);
    if (const Neighbour* const other = nearest_that_disagrees(ahead, self)) {
        const std::uint64_t present = line.front().capacity;
        if (present == self.capacity) {
            return {.verdict = Verdict::waits,
                    .watched = {other->node},
                    .by_change = true,
                    .barred_by = ahead.front()};
        }
        return {.verdict = Verdict::conflict,
                .watched = {other->node},
                .by_change = true,
                .barred_by = last_that_agrees_with_first(ahead),
                .capacity_ahead = present};
    }
    const auto weights = as_in_line(line.first(index + 1));
    if (is_admitted(weights, index, self.capacity, Fairness::fifo)) {
        return {.verdict = Verdict::admitted};
    }
    if (const Neighbour* const nearest = nearest_in_the_way(ahead, self)) {
        return {.verdict = Verdict::waits,
                .watched = {nearest->node},
                .barred_by = ahead.front(),
                .next = index == 1};
    }
    return {.verdict = Verdict::waits,
            .watched = watched_by_permits(ahead),
            .by_change = true,
            .barred_by = ahead.front()};
}

Judgement judge_newcomer(std::span<const Neighbour> line, const Contender& contender) {
    std::vector<Neighbour> joined(line.begin(), line.end());
    // No node is without a name.
    joined.push_back({.node = {}, .weight = contender.weight, .capacity = contender.capacity});
    return judge(joined, joined.back().node);
}

Standing::State state_in(std::span<const Neighbour> line, std::string_view node) {
    const Verdict verdict = judge(line, node).verdict;
    if (verdict == Verdict::absent) return Standing::State::gone;
    return verdict == Verdict::admitted ? Standing::State::admitted : Standing::State::waiting;
}

std::size_t admitted_in(std::span<const Neighbour> line) {
    if (line.empty()) return 0;
    const auto weights = as_in_line(line);
    const std::uint64_t capacity = line.front().capacity;
    std::size_t count = 0;
    while (count < line.size() && line[count].capacity == capacity &&
           is_admitted(std::span(weights).first(count + 1), count, capacity, Fairness::fifo)) {
        ++count;
    }
    return count;
}

}  // namespace holdfast::inline v0::listed
