#include "exploration/stage.hpp"

#include <algorithm>
#include <chrono>

namespace holdfast::exploration {

using namespace std::chrono_literals;
using What = Step::What;

namespace {

constexpr std::chrono::seconds tick{1};

/// It says whose it is, and which of its attempts.
Nonce nonce_of(std::size_t client, int attempt) {
    Nonce nonce;
    nonce.bytes = {static_cast<std::byte>(client), static_cast<std::byte>(attempt)};
    return nonce;
}

std::size_t client_of(const Nonce& nonce) {
    return std::to_integer<std::size_t>(nonce.bytes[0]);
}

Moment moment_of(int ticks) {
    return Moment{1h} + ticks * tick;
}

void put(std::vector<Stage::Id>& sorted, Stage::Id id) {
    sorted.insert(std::ranges::upper_bound(sorted, id), id);
}

}  // namespace

Stage::Stage(const Bounds& bounds, Fault fault, Lapse lapse)
    : bounds_(bounds),
      terms_({.nodes = node_count, .max_lease = bounds.lease * tick}),
      fault_(fault) {
    start_.nodes.fill(nodes_.id_of(Node(terms_, lapse)));
    for (std::size_t client = 0; client < client_count; ++client) {
        start_.players[client] = players_.id_of({.participant = Participant(terms_, fault),
                                                 .attempts = bounds.attempts[client],
                                                 .renewals = bounds.renewals});
    }
    start_.restarts = bounds.restarts;
    start_.doubles = bounds.doubles;
}

std::vector<Step> Stage::steps_from(const State& state) const {
    std::vector<Step> steps;
    for (std::size_t i = 0; i < state.under_way.size(); ++i) {
        const Id id = state.under_way[i];
        if (i > 0 && state.under_way[i - 1] == id) continue;
        steps.push_back({What::arrives, id});
        const bool doubles = state.doubles > 0 && !messages_[id].is_answer;
        if (doubles) steps.push_back({What::arrives_twice, id});
    }
    for (Id client = 0; client < client_count; ++client) add_steps_of(state, client, steps);
    for (Id node = 0; node < node_count && state.restarts > 0; ++node) {
        steps.push_back({What::comes_back_empty, node});
        steps.push_back({What::comes_back, node});
    }
    if (state.tick < bounds_.ticks) steps.push_back({What::time_passes, 0});
    return steps;
}

/// A client gives up when time has passed since it asked.
void Stage::add_steps_of(const State& state, Id client, std::vector<Step>& steps) const {
    const Player& player = players_[state.players[client]];
    const Participant& one = player.participant;
    const bool waits = one.is_entering() || one.is_renewing();
    if (waits && moment_of(state.tick) > one.sent()) steps.push_back({What::gives_up, client});
    if (one.is_in()) steps.push_back({What::leaves, client});
    if (one.is_in() && !waits && player.renewals > 0) steps.push_back({What::renews, client});
    if (!one.is_in() && !waits && player.attempts > 0) steps.push_back({What::enters, client});
}

std::uint64_t Stage::happen(State& state, const Step& step) {
    const Id about = step.about;
    switch (step.what) {
        case What::arrives_twice:
            put(state.under_way, about);
            --state.doubles;
            [[fallthrough]];
        case What::arrives:
            return arrive(state, about);
        case What::enters:
            enter(state, about);
            break;
        case What::gives_up:
            give_up(state, about);
            break;
        case What::renews:
            renew(state, about);
            break;
        case What::leaves:
            leave(state, about);
            break;
        case What::comes_back_empty:
            restart(state, about, {});
            break;
        case What::comes_back:
            restart(state, about, nodes_[state.nodes[about]].memory());
            break;
        case What::time_passes:
            pass_time(state);
            break;
    }
    return 0;
}

void Stage::pass_time(State& state) {
    ++state.tick;
    for (std::size_t i = 0; i < node_count; ++i) {
        Node one = nodes_[state.nodes[i]];
        one.end_what_is_over(clock_of(state, i));
        state.nodes[i] = nodes_.id_of(one);
    }
}

std::uint64_t Stage::arrive(State& state, Id id) {
    state.under_way.erase(std::ranges::find(state.under_way, id));
    if (messages_[id].is_answer) return hear(state, messages_[id]);
    answer(state, id);
    return 0;
}

void Stage::answer(State& state, Id id) {
    const Message& message = messages_[id];
    Id& node = state.nodes[message.letter.node];
    const std::uint64_t key = (std::uint64_t{node} << 32U | id) << 8U | unsigned(state.tick);
    const auto [place, is_new] = answers_.try_emplace(key);
    if (is_new) {
        Node one = nodes_[node];
        Message reply = message;
        reply.is_answer = true;
        reply.vote = one.answer(message.letter.request, clock_of(state, message.letter.node));
        // Why it is not let in, and for how long, it does nothing about here.
        reply.vote.rival = {};
        reply.vote.after = 0ms;
        const bool is_enter = message.letter.request.kind == Request::Kind::enter;
        const bool is_in = reply.vote.kind == redlock::Vote::Kind::admitted;
        if (is_enter && !is_in) reply.vote.kind = redlock::Vote::Kind::busy;
        place->second = {nodes_.id_of(one), messages_.id_of(reply)};
    }
    node = place->second.first;
    const bool concerns_somebody =
        participant(state, message.client).expects_answer_to(message.letter.request);
    if (concerns_somebody) return put(state.under_way, place->second.second);
    drop_letters_to(state, message.letter.node);
}

std::uint64_t Stage::hear(State& state, const Message& message) {
    Player player = players_[state.players[message.client]];
    const bool was_in = player.participant.is_in();
    const auto letters =
        player.participant.take(message.letter, message.vote, moment_of(state.tick));
    go_on(state, message.client, player, letters);
    return !was_in ? player.participant.fence() : 0;
}

void Stage::enter(State& state, Id client) {
    Player player = players_[state.players[client]];
    const Wall proposal = state.tick * tick + bounds_.proposals_ahead[client];
    const auto letters =
        player.participant.enter({.nonce = nonce_of(client, player.attempts--),
                                  .lease = bounds_.lease * tick,
                                  .fence = static_cast<std::uint64_t>(proposal.count())},
                                 moment_of(state.tick));
    go_on(state, client, player, letters);
}

void Stage::give_up(State& state, Id client) {
    Player player = players_[state.players[client]];
    const auto letters = player.participant.give_up(moment_of(state.tick));
    go_on(state, client, player, letters);
}

void Stage::renew(State& state, Id client) {
    Player player = players_[state.players[client]];
    --player.renewals;
    const auto letters = player.participant.renew(moment_of(state.tick));
    go_on(state, client, player, letters);
}

void Stage::leave(State& state, Id client) {
    Player player = players_[state.players[client]];
    const auto letters = player.participant.leave();
    go_on(state, client, player, letters);
}

void Stage::restart(State& state, Id node, Node::Memory kept) {
    Node one = nodes_[state.nodes[node]];
    one.restart(std::move(kept), clock_of(state, node));
    state.nodes[node] = nodes_.id_of(one);
    --state.restarts;
}

void Stage::go_on(State& state, std::size_t client, Player player,
                  const std::vector<Letter>& letters) {
    // What it was is of no matter to one that is out.
    const bool is_out = !player.participant.is_in() && !player.participant.is_entering();
    if (is_out) player.participant = Participant(terms_, fault_);
    state.players[client] = players_.id_of(player);
    drop_answers_for(state, client);
    for (const Letter& letter : letters) {
        put(state.under_way, messages_.id_of({.client = client, .letter = letter}));
    }
    for (std::size_t node = 0; is_out && node < node_count; ++node) drop_letters_to(state, node);
}

void Stage::drop_answers_for(State& state, std::size_t client) const {
    std::erase_if(state.under_way, [&](Id id) {
        const Message& one = messages_[id];
        return one.client == client && one.is_answer &&
               !participant(state, client).expects_answer_to(one.letter.request);
    });
}

/// Whatever a node has a tombstone for, until nothing of that can come. None of it comes to another
/// run of the node: it was under way on a connection to this one, before the leave that was
/// answered.
void Stage::drop_letters_to(State& state, std::size_t node) {
    std::vector<Id> rest;
    for (const Id id : state.under_way) {
        const Message& one = messages_[id];
        const bool is_letter = !one.is_answer && one.letter.node == node;
        if (!is_letter || !changes_nothing(state, one)) rest.push_back(id);
    }
    state.under_way = std::move(rest);
    const auto& withdrawn = nodes_[state.nodes[node]].memory().withdrawn;
    if (withdrawn.empty()) return;
    Node simpler = nodes_[state.nodes[node]];
    for (const Nonce& nonce : withdrawn) {
        if (letters_of(state, nonce, node) == 0) simpler.forget_tombstone_of(nonce);
    }
    state.nodes[node] = nodes_.id_of(simpler);
}

std::size_t Stage::letters_of(const State& state, const Nonce& nonce, std::size_t node) const {
    return static_cast<std::size_t>(std::ranges::count_if(state.under_way, [&](Id id) {
        const Message& one = messages_[id];
        return !one.is_answer && one.letter.node == node && one.letter.request.nonce == nonce;
    }));
}

bool Stage::changes_nothing(const State& state, const Message& letter) const {
    const auto& [node, request] = letter.letter;
    const Node& before = nodes_[state.nodes[node]];
    // A tombstone is for what comes later.
    const bool is_last = request.kind == Request::Kind::leave && !before.has(request.nonce) &&
                         letters_of(state, request.nonce, node) == 1;
    if (is_last || !before.has_tombstone_of(request.nonce)) return is_last;
    Node after = before;
    static_cast<void>(after.answer(request, clock_of(state, node)));
    return after == before;
}

bool Stage::holds(const State& state, std::size_t client) const {
    return participant(state, client).holds(moment_of(state.tick));
}

/// A node that has forgotten tombstones may let somebody in who comes late; for a lease.
bool Stage::has_ghost(const State& state) const {
    const auto is_letter = [this](Id id) { return !messages_[id].is_answer; };
    if (std::ranges::any_of(state.under_way, is_letter)) return false;
    for (std::size_t i = 0; i < node_count; ++i) {
        const Node& node = nodes_[state.nodes[i]];
        for (const Node::Holder& one : node.memory().holders) {
            const bool is_answered_for =
                participant(state, client_of(one.nonce)).answers_for(one.nonce);
            if (!is_answered_for && node.run() == 1) return true;
        }
    }
    return false;
}

Wall Stage::clock_of(const State& state, std::size_t node) const {
    return state.tick * tick + bounds_.clocks[node];
}

}  // namespace holdfast::exploration
