#include "stores/zookeeper/renewing.hpp"

#include <map>
#include <utility>

#include "stores/zookeeper/failures.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

using Answer = ZookeeperWire::Answer;
using State = Standing::State;

/// What is asked about one of the tickets.
struct Asked {
    std::size_t ticket = 0;
    Member member;
    std::size_t reply = 0;  ///< which one tells; that of the leader when nothing is to be looked at
};

/// A look at the node of each that holds, and one list for all that wait in one line.
std::vector<Operation> looks_at(std::vector<Asked>& asked) {
    std::vector<Operation> operations{catch_up()};
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

}  // namespace

Pending<std::vector<Standing>> renew_all(const std::shared_ptr<Common>& common,
                                         std::span<const Ticket> tickets,
                                         std::chrono::milliseconds lease) {
    std::vector<Asked> asked;
    for (std::size_t i = 0; i < tickets.size(); ++i) {
        // What this client does not know of any more is gone.
        auto member = common->roster.find(tickets[i].nonce);
        if (member) asked.push_back({.ticket = i, .member = *std::move(member)});
    }
    std::vector<Standing> standings(tickets.size());
    if (asked.empty()) return standings;
    auto operations = looks_at(asked);
    const auto flight = std::make_shared<Flight<std::vector<Standing>>>(common->wire);
    common->submit({.operations = std::move(operations)},
                   [asked = std::move(asked), standings = std::move(standings), flight, lease](
                       Common& alive, const Answer& answer) mutable {
                       if (!answer.result.ok()) return flight->complete(answer.result.failure());
                       for (const Asked& one : asked) {
                           const Refusal refusal = answer.result.value()[one.reply].refusal;
                           if (!tells_nothing(refusal)) continue;
                           return flight->complete(failure_of(refusal, alive.ensemble()));
                       }
                       const Moment from = alive.wire.counted_from(answer.sent, lease);
                       for (const Asked& one : asked) {
                           Standing& standing = standings[one.ticket];
                           standing = standing_by(alive, one, answer.result.value()[one.reply],
                                                  answer.session);
                           if (standing.state == State::gone) continue;
                           standing.counted_from = from;
                           alive.roster.renewed(one.member.nonce(), answer.sent + lease);
                       }
                       flight->complete(std::move(standings));
                   });
    return Pending<std::vector<Standing>>(flight);
}

}  // namespace holdfast::inline v0::zookeeper
