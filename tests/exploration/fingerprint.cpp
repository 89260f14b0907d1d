#include <algorithm>

#include "exploration/stage.hpp"

namespace holdfast::exploration {

using Fingerprint = Stage::Fingerprint;

namespace {

std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
}

/// Two hashes in one go, of all that it is fed, in this order.
class Mixer {
public:
    void feed(std::uint64_t value) {
        low_ = mixed(low_ + value);
        high_ = mixed(high_ ^ (value * 0x9e3779b97f4a7c15U)) + low_;
    }
    void feed(const Fingerprint& one) {
        feed(one.low);
        feed(one.high);
    }
    Fingerprint result() const noexcept { return {low_, high_}; }

private:
    std::uint64_t low_ = 0x9e3779b97f4a7c15U;
    std::uint64_t high_ = 0xc2b2ae3d27d4eb4fU;
};

/// Of several in any order.
class Heap {
public:
    void add(std::uint64_t value) {
        Mixer mixer;
        mixer.feed(value);
        sum_.low += mixer.result().low;
        sum_.high += mixer.result().high;
    }
    const Fingerprint& result() const noexcept { return sum_; }

private:
    Fingerprint sum_;
};

}  // namespace

Fingerprint Stage::fingerprint_of(const State& state, std::uint64_t highest_fence) {
    std::array<Heap, node_count> letters;
    for (const Id id : state.under_way) letters[messages_[id].letter.node].add(content_of(id));
    std::array<Mixer, node_count> nodes;
    for (std::size_t i = 0; i < node_count; ++i) {
        nodes[i].feed(state.nodes[i]);
        nodes[i].feed(static_cast<std::uint64_t>(bounds_.clocks[i].count()));
        for (const Id player : state.players) nodes[i].feed(parts_of(player).views[i]);
        nodes[i].feed(letters[i].result());
    }
    std::ranges::sort(nodes, {}, [](const Mixer& one) { return one.result().low; });
    Mixer all_of_it;
    for (const Mixer& one : nodes) all_of_it.feed(one.result());
    for (const Id player : state.players) all_of_it.feed(parts_of(player).rest);
    for (const int number : {state.tick, state.restarts, state.doubles}) {
        all_of_it.feed(static_cast<std::uint64_t>(number));
    }
    all_of_it.feed(highest_fence);
    return all_of_it.result();
}

const Stage::Parts& Stage::parts_of(Id player) {
    for (auto next = static_cast<Id>(parts_.size()); next <= player; ++next) {
        Player rest = players_[next];
        Parts parts;
        for (std::size_t i = 0; i < node_count; ++i) {
            parts.views[i] = views_.id_of(rest.participant.view_of(i));
        }
        rest.participant = rest.participant.without_views();
        parts.rest = rests_.id_of(rest);
        parts_.push_back(parts);
    }
    return parts_[player];
}

/// What it says, whichever node it is to or from.
Stage::Id Stage::content_of(Id message) {
    for (auto next = static_cast<Id>(contents_of_messages_.size()); next <= message; ++next) {
        Message content = messages_[next];
        content.letter.node = 0;
        contents_of_messages_.push_back(contents_.id_of(content));
    }
    return contents_of_messages_[message];
}

}  // namespace holdfast::exploration
