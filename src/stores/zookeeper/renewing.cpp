#include <map>
#include <optional>
#include <set>
#include <utility>

#include "stores/listed/awaited.hpp"
#include "stores/listed/renewal.hpp"
#include "stores/zookeeper/failures.hpp"
#include "stores/zookeeper/protocol.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

using listed::Look;
using listed::Renewed;
using State = Standing::State;

/// The name that is waited for with barging is watched anew: what was to be told of it may have
/// been lost.
Operation operation_for(const Look& look) {
    switch (look.at) {
        case Look::At::node:
            return look_at_node(look.path);
        case Look::At::line:
            return list_children(look.path);
        case Look::At::name:
            break;
    }
    return look_at_node(look.path, Watching::yes);
}

Standing standing_by(Protocol& protocol, const Entrant& entrant, const Reply& reply,
                     std::optional<std::int64_t> session) {
    if (entrant.node.empty()) return {.state = State::waiting};
    if (entrant.session != session) return {};
    if (!entrant.admitted || entrant.is_barging()) return protocol.stands(entrant, reply);
    // A sequential node is never made twice.
    if (reply.ok()) return {.state = State::admitted, .fence = entrant.fence};
    protocol.lines.forget(entrant.nonce());
    return {};
}

/// What one session is asked for.
struct Round {
    Term term{};
    std::vector<Renewed> renewed = {};

    /// What is answered about one of them: first comes the answer to the write.
    static const Reply& reply_to(const Renewed& one, const Answer& answer) {
        return answer.result.value()[one.look + 1];
    }
};

/// The tickets of several sessions, answered together.
struct Renewal {
    using Told = std::shared_ptr<Flight<std::vector<Standing>>>;

    Renewal(std::size_t tickets, Extension asked, Told told, std::size_t rounds)
        : standings(tickets), extension(asked), flight(std::move(told)) {
        awaited.expect(rounds);
    }

    std::vector<Standing> standings;
    const Extension extension;
    const Told flight;
    listed::Awaited awaited = {};
    std::optional<Failure> failure = std::nullopt;

    void finish(std::optional<Failure> failed) {
        const bool last = awaited.is_last([&] {
            if (failed && !failure) failure = std::move(failed);
        });
        if (!last) return;
        if (failure) return flight->complete(*std::move(failure));
        flight->complete(std::move(standings));
    }
};

/// Each name that is waited for with barging, once: all that wait for it are told.
void stir_free_names(Protocol& protocol, const Round& round, const Answer& answer) {
    std::set<std::string> free;
    for (const Renewed& one : round.renewed) {
        const bool waits_for_name = one.entrant.node.empty();
        if (waits_for_name && !Round::reply_to(one, answer).ok()) free.insert(one.entrant.path);
    }
    for (const std::string& path : free) {
        protocol.stirred(answer.session, path, Event::What::deleted);
    }
}

std::optional<Failure> take_answer(Protocol& protocol, const Round& round, Renewal& renewal,
                                   const Answer& answer) {
    if (!answer.result.ok()) return answer.result.failure();
    for (const Renewed& one : round.renewed) {
        const Refusal refusal = Round::reply_to(one, answer).refusal;
        if (tells_nothing(refusal)) return failure_of(refusal, protocol.ensemble());
    }
    const auto& extension = renewal.extension;
    const listed::Extent extent{
        .counted_from = protocol.wire().counted_from(round.term, answer.sent, extension.lease),
        .lease_end = answer.sent + extension.lease};
    // The answer may be told late: what was proved of another session by then, as that it counts
    // from, says nothing about this one, which is over.
    const bool is_present = protocol.wire().session(round.term) == answer.session;
    const auto session = is_present ? std::optional(answer.session) : std::nullopt;
    for (const Renewed& one : round.renewed) {
        const Standing standing =
            standing_by(protocol, one.entrant, Round::reply_to(one, answer), session);
        renewal.standings[one.ticket] =
            renewed_as(protocol.lines, one, standing, extension, extent);
    }
    stir_free_names(protocol, round, answer);
    return std::nullopt;
}

void send_round(Protocol& protocol, Round round, const std::shared_ptr<Renewal>& renewal) {
    std::vector<Operation> operations{write_nothing()};
    for (const Look& look : looks_for(round.renewed)) operations.push_back(operation_for(look));
    const Term term = round.term;
    // Of one that waits for a connection while its session is shortened there may be no answer: it
    // fails, and the next one tells.
    protocol.submit(term, {.operations = std::move(operations), .lease = renewal->extension.lease},
                    [round = std::move(round), renewal](Protocol& alive, const Answer& answer) {
                        renewal->finish(take_answer(alive, round, *renewal, answer));
                    });
}

}  // namespace

Pending<std::vector<Standing>> Protocol::renew(std::span<const Ticket> tickets,
                                               Extension extension) {
    const auto lease = extension.lease;
    std::map<Term, Round> rounds;
    for (Renewed& one : listed::begin_renewal(lines, tickets, extension)) {
        const Entrant& entrant = one.entrant;
        const bool in_line = !entrant.node.empty();
        if (in_line && !is_of_present_session(entrant)) continue;
        const Term term = term_of(entrant);
        const auto session = wire_.session_timeout(term);
        const bool is_there = wire_.session(term) != 0;
        if (is_there && lease > session) {
            if (in_line && lease > entrant.contender.lease) {
                return beyond_session(lease, session, ensemble());
            }
            // It was shortened. Whoever has a node in it is about to be told, or was; all come
            // again, and are refused if nobody grants more.
            if (!in_line) withdraw(entrant);
            continue;
        }
        Round& round = rounds[term];
        round.term = term;
        round.renewed.push_back(std::move(one));
    }
    if (rounds.empty()) return std::vector<Standing>(tickets.size());
    const auto flight = std::make_shared<Flight<std::vector<Standing>>>(wire_);
    const auto renewal =
        std::make_shared<Renewal>(tickets.size(), extension, flight, rounds.size());
    for (auto& [term, round] : rounds) send_round(*this, std::move(round), renewal);
    return Pending<std::vector<Standing>>(flight);
}

}  // namespace holdfast::inline v0::zookeeper
