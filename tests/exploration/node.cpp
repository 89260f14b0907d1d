#include "exploration/node.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::exploration {

using redlock::Vote;

namespace {

Vote admitted(const Node::Holder& holder) {
    return {.kind = Vote::Kind::admitted, .fence = holder.fence};
}

std::chrono::milliseconds left_of(Wall end, Wall now) {
    return std::chrono::ceil<std::chrono::milliseconds>(end - now);
}

Vote forgetful(Wall until, Wall now) {
    return {.kind = Vote::Kind::forgetful, .after = left_of(until, now)};
}

}  // namespace

Node::Node(redlock::Terms terms, Lapse lapse)
    : terms_(terms), lapse_(lapse), memory_({.marker = {.run = run_, .since = long_ago()}}) {}

void Node::restart(Memory kept, Wall now) {
    ++run_;
    memory_ = std::move(kept);
    memory_.marker = Marker{.run = run_, .since = now};
}

Vote Node::answer(const Request& request, Wall now) {
    end_what_is_over(now);
    switch (request.kind) {
        case Request::Kind::enter:
            return enter(request, now);
        case Request::Kind::renew:
            return renew(request, now);
        case Request::Kind::leave:
            break;
    }
    return leave(request);
}

Vote Node::enter(const Request& request, Wall now) {
    if (has_tombstone_of(request.nonce)) return {.kind = Vote::Kind::gone};
    plant_marker_anew(now);
    if (const auto until = forgetful_until(now)) return forgetful(*until, now);
    if (Holder* const one = find(request.nonce)) {
        one->lease_end = std::max(one->lease_end, now + request.lease);
        return admitted(*one);
    }
    const bool is_ahead = Wall(request.fence) >= now + terms_.max_lease / 2;
    if (is_ahead && lapse_ != Lapse::takes_any_fence) return {.kind = Vote::Kind::ahead};
    if (has_room(request.weight)) return admit(request, now);
    // The same of several at each node, so that the one that has a majority is known by it.
    const Holder& rival = *std::ranges::min_element(memory_.holders, {}, &Holder::nonce);
    return {.kind = Vote::Kind::busy, .rival = rival.nonce, .after = left_of(rival.lease_end, now)};
}

Vote Node::admit(const Request& request, Wall now) {
    memory_.last_fence =
        std::max({memory_.last_fence + 1, request.fence, static_cast<std::uint64_t>(now.count())});
    memory_.holders.push_back({.nonce = request.nonce,
                               .weight = request.weight,
                               .fence = memory_.last_fence,
                               .lease_end = now + request.lease});
    return admitted(memory_.holders.back());
}

/// One that is in stays in where the node has forgotten others, so that it is there when the node
/// counts again.
Vote Node::renew(const Request& request, Wall now) {
    Holder* const one = find(request.nonce);
    if (one == nullptr) {
        return lapse_ == Lapse::renews_what_is_gone ? admit(request, now)
                                                    : Vote{.kind = Vote::Kind::gone};
    }
    const bool is_new = request.fence > memory_.last_fence;
    const bool is_ahead = Wall(request.fence) >= now + terms_.max_lease;
    if (is_new && is_ahead && lapse_ != Lapse::takes_any_fence) return {.kind = Vote::Kind::ahead};
    if (request.serial >= one->serial) extend(*one, request, now);
    plant_marker_anew(now);
    if (const auto until = forgetful_until(now)) return forgetful(*until, now);
    return admitted(*one);
}

void Node::extend(Holder& one, const Request& request, Wall now) {
    one.serial = request.serial;
    one.lease_end = now + request.lease;
    one.fence = request.fence;
    memory_.last_fence = std::max(memory_.last_fence, request.fence);
}

Vote Node::leave(const Request& request) {
    const bool was_in = has(request.nonce);
    std::erase_if(memory_.holders, [&](const Holder& one) { return one.nonce == request.nonce; });
    if (lapse_ != Lapse::leaves_no_tombstone) withdraw(request.nonce);
    if (lapse_ == Lapse::forgets_fence_of_gone) memory_.last_fence = 0;
    return {.kind = was_in ? Vote::Kind::admitted : Vote::Kind::gone};
}

void Node::withdraw(const Nonce& nonce) {
    auto& withdrawn = memory_.withdrawn;
    const auto place = std::ranges::lower_bound(withdrawn, nonce);
    if (place == withdrawn.end() || *place != nonce) withdrawn.insert(place, nonce);
}

/// Nothing when it has forgotten no lease that may not be over.
std::optional<Wall> Node::forgetful_until(Wall now) const {
    const Wall until = memory_.marker.since + terms_.max_lease;
    if (now >= until || lapse_ == Lapse::counts_at_once) return std::nullopt;
    return until;
}

/// Its clock was set back behind the moment from which it counts.
void Node::plant_marker_anew(Wall now) {
    memory_.marker.since = std::min(memory_.marker.since, now);
}

void Node::end_what_is_over(Wall now) {
    std::erase_if(memory_.holders, [now](const Holder& one) { return one.lease_end <= now; });
    if (!forgetful_until(now)) memory_.marker.since = long_ago();
}

Wall Node::long_ago() const {
    return Wall{0} - terms_.max_lease;
}

void Node::forget_tombstone_of(const Nonce& nonce) {
    std::erase(memory_.withdrawn, nonce);
}

bool Node::has(const Nonce& nonce) const {
    return std::ranges::find(memory_.holders, nonce, &Holder::nonce) != memory_.holders.end();
}

bool Node::has_tombstone_of(const Nonce& nonce) const {
    return std::ranges::binary_search(memory_.withdrawn, nonce);
}

Node::Holder* Node::find(const Nonce& nonce) {
    const auto found = std::ranges::find(memory_.holders, nonce, &Holder::nonce);
    return found == memory_.holders.end() ? nullptr : &*found;
}

bool Node::has_room(std::uint64_t weight) const {
    std::uint64_t held = 0;
    for (const Holder& one : memory_.holders) held += one.weight;
    return held + weight <= all;
}

}  // namespace holdfast::exploration
