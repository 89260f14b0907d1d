#include "stores/zookeeper/renewing.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "stores/zookeeper/failures.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

using State = Standing::State;

/// What is asked about one of the tickets.
struct Asked {
    std::size_t ticket = 0;
    Member member;
    std::size_t reply = 0;  ///< which one tells; that of the leader when nothing is to be looked at
};

/// A look at the node of each that holds, and one list for all that wait in one line.
std::vector<Operation> looks_at(std::vector<Asked>& asked) {
    std::vector<Operation> operations{write_nothing()};
    std::map<std::string, std::size_t> lists;
    for (Asked& one : asked) {
        if (one.member.node.empty()) continue;
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
    std::vector<Standing> standings;
    std::chrono::milliseconds lease;
    std::shared_ptr<Flight<std::vector<Standing>>> flight;
    std::atomic<std::size_t> under_way = 0;
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

std::optional<Failure> take_answer(Common& common, const Round& round, Renewal& renewal,
                                   const Answer& answer) {
    if (!answer.result.ok()) return answer.result.failure();
    const auto& replies = answer.result.value();
    for (const Asked& one : round.asked) {
        const Refusal refusal = replies[one.reply].refusal;
        if (one.reply != 0 && tells_nothing(refusal)) {
            return failure_of(refusal, common.ensemble());
        }
    }
    const Moment from = common.wire.counted_from(round.term, answer.sent, renewal.lease);
    for (const Asked& one : round.asked) {
        Standing& standing = renewal.standings[one.ticket];
        standing = standing_by(common, one, replies[one.reply], answer.session);
        if (standing.state == State::gone) continue;
        standing.counted_from = from;
        common.roster.renewed(one.member.nonce(), answer.sent + renewal.lease);
    }
    return std::nullopt;
}

void send_round(Common& common, Round round, const std::shared_ptr<Renewal>& renewal) {
    auto operations = looks_at(round.asked);
    common.submit(round.term, {.operations = std::move(operations)},
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
        const Term term = common->term_of(member->contender);
        const auto session = common->wire.session_timeout(term);
        if (lease > session) return beyond_session(lease, session, common->ensemble());
        Round& round = rounds[term];
        round.term = term;
        round.asked.push_back({.ticket = i, .member = *std::move(member)});
    }
    std::vector<Standing> standings(tickets.size());
    if (rounds.empty()) return standings;
    const auto flight = std::make_shared<Flight<std::vector<Standing>>>(common->wire);
    const auto renewal = std::make_shared<Renewal>(std::move(standings), lease, flight);
    renewal->under_way = rounds.size();
    for (auto& [term, round] : rounds) send_round(*common, std::move(round), renewal);
    return Pending<std::vector<Standing>>(flight);
}

}  // namespace holdfast::inline v0::zookeeper
