#include "stores/zookeeper/renewing.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "stores/zookeeper/failures.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

using State = Standing::State;

/// What is asked about one of the tickets.
struct Asked {
    std::size_t ticket = 0;
    Member member;
    std::size_t reply = 0;  ///< which one tells
};

/// A look at the node of each that holds, and one list for all that wait in one line. With barging
/// the name that is waited for is looked at, and watched anew: what was to be told of it may have
/// been lost.
std::vector<Operation> looks_at(std::vector<Asked>& asked) {
    std::vector<Operation> operations{write_nothing()};
    std::map<std::string, std::size_t> lists;
    std::map<std::string, std::size_t> names;
    for (Asked& one : asked) {
        if (one.member.node.empty()) {
            const auto [known, is_new] = names.try_emplace(one.member.path, operations.size());
            one.reply = known->second;
            if (is_new) operations.push_back(look_at_node(one.member.path, Watching::yes));
            continue;
        }
        const auto known = lists.find(one.member.path);
        if (!one.member.admitted && known != lists.end()) {
            one.reply = known->second;
            continue;
        }
        one.reply = operations.size();
        if (one.member.admitted) {
            operations.push_back(look_at_node(one.member.node));
        } else {
            lists.emplace(one.member.path, one.reply);
            operations.push_back(list_children(one.member.path));
        }
    }
    return operations;
}

Standing standing_by(Common& common, const Asked& one, const Reply& reply, std::int64_t session) {
    if (one.member.node.empty()) return {.state = State::waiting};
    if (one.member.session != session) return {};
    if (!one.member.admitted || one.member.is_barging()) return common.stands(one.member, reply);
    // A sequential node is never made twice.
    if (reply.ok()) return {.state = State::admitted, .fence = one.member.fence};
    common.roster.remove(one.member.nonce());
    return {};
}

/// What one session is asked for, and what is told of its tickets.
struct Round {
    Term term{};
    std::vector<Asked> asked = {};
};

/// The tickets of several sessions, answered together.
struct Renewal {
    using Told = std::shared_ptr<Flight<std::vector<Standing>>>;

    Renewal(std::size_t tickets, std::chrono::milliseconds asked, Told told, std::size_t rounds)
        : standings(tickets), lease(asked), flight(std::move(told)), under_way(rounds) {}

    std::vector<Standing> standings;
    std::chrono::milliseconds lease;
    Told flight;
    std::atomic<std::size_t> under_way;
    std::mutex mutex = {};
    std::optional<Failure> failure = std::nullopt;

    void finish(std::optional<Failure> failed) {
        {
            const std::lock_guard guard(mutex);
            if (failed && !failure) failure = std::move(failed);
        }
        if (--under_way > 0) return;
        if (failure) return flight->complete(*std::move(failure));
        flight->complete(std::move(standings));
    }
};

/// Each name that is waited for with barging, once: all that wait for it are told.
void stir_free_names(Common& common, const Round& round, const Answer& answer) {
    std::set<std::string> free;
    for (const Asked& one : round.asked) {
        const bool waits_for_name = one.member.node.empty();
        if (waits_for_name && !answer.result.value()[one.reply].ok()) free.insert(one.member.path);
    }
    for (const std::string& path : free) {
        common.stirred(answer.session, path, Event::What::deleted);
    }
}

std::optional<Failure> take_answer(Common& common, const Round& round, Renewal& renewal,
                                   const Answer& answer) {
    if (!answer.result.ok()) return answer.result.failure();
    const auto& replies = answer.result.value();
    for (const Asked& one : round.asked) {
        const Refusal refusal = replies[one.reply].refusal;
        if (tells_nothing(refusal)) {
            return failure_of(refusal, common.ensemble());
        }
    }
    const Moment from = common.wire.counted_from(round.term, answer.sent, renewal.lease);
    for (const Asked& one : round.asked) {
        Standing& standing = renewal.standings[one.ticket];
        standing = standing_by(common, one, replies[one.reply], answer.session);
        if (standing.state == State::gone) continue;
        standing.counted_from = from;
        // Its lease may have ended before this was known: then its node is about to go.
        if (!common.roster.renewed(one.member.nonce(), answer.sent + renewal.lease)) standing = {};
    }
    stir_free_names(common, round, answer);
    return std::nullopt;
}

void send_round(Common& common, Round round, const std::shared_ptr<Renewal>& renewal) {
    auto operations = looks_at(round.asked);
    const Term term = round.term;
    // Of one that waits for a connection while its session is shortened there may be no answer: it
    // fails, and the next one tells.
    common.submit(term, {.operations = std::move(operations), .lease = renewal->lease},
                  [round = std::move(round), renewal](Common& alive, const Answer& answer) {
                      renewal->finish(take_answer(alive, round, *renewal, answer));
                  });
}

}  // namespace

Pending<std::vector<Standing>> renew_all(const std::shared_ptr<Common>& common,
                                         std::span<const Ticket> tickets,
                                         std::chrono::milliseconds lease) {
    std::map<Term, Round> rounds;
    for (std::size_t i = 0; i < tickets.size(); ++i) {
        // What this client does not know of any more is gone.
        auto member = common->roster.find(tickets[i].nonce);
        if (!member) continue;
        const bool in_line = !member->node.empty();
        if (in_line && !common->is_of_present_session(*member)) continue;
        const Term term = common->term_of(*member);
        const auto session = common->wire.session_timeout(term);
        const bool is_there = common->wire.session(term) != 0;
        if (is_there && lease > session) {
            if (in_line && lease > member->contender.lease) {
                return beyond_session(lease, session, common->ensemble());
            }
            // It was shortened. Whoever has a node in it is about to be told, or was; all come
            // again, and are refused if nobody grants more.
            if (!in_line) common->withdraw(*member);
            continue;
        }
        Round& round = rounds[term];
        round.term = term;
        round.asked.push_back({.ticket = i, .member = *std::move(member)});
    }
    if (rounds.empty()) return std::vector<Standing>(tickets.size());
    const auto flight = std::make_shared<Flight<std::vector<Standing>>>(common->wire);
    const auto renewal = std::make_shared<Renewal>(tickets.size(), lease, flight, rounds.size());
    for (auto& [term, round] : rounds) send_round(*common, std::move(round), renewal);
    return Pending<std::vector<Standing>>(flight);
}

}  // namespace holdfast::inline v0::zookeeper
