#include "stores/zookeeper/leaving.hpp"

#include <algorithm>
#include <utility>

#include "port/sentences.hpp"
#include "stores/listed/note.hpp"
#include "stores/zookeeper/ending.hpp"
#include "stores/zookeeper/failures.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

using LeaveFlight = std::shared_ptr<Flight<Standing>>;
using State = Standing::State;
using Verdict = Judgement::Verdict;

/// Where a node stands in the list of its line.
State state_in(const Reply& listed, std::string_view node) {
    if (!listed.ok()) return State::gone;
    const Verdict verdict = judge(seats_in_order(listed.children()), node).verdict;
    if (verdict == Verdict::absent) return State::gone;
    return verdict == Verdict::admitted ? State::admitted : State::waiting;
}

/// What the deletion of a node that stood like this means.
Result<Standing> deleted(const Common& common, const Reply& reply, State stood, bool repeated) {
    if (reply.ok()) return Standing{.state = stood};
    if (reply.refusal != Refusal::no_node) return failure_of(reply.refusal, common.ensemble());
    if (repeated) return perhaps_done(common.ensemble().shown());
    return Standing{};
}

/// A contender of our own that has its node. One that waits may be admitted without knowing it.
void leave_own(Common& common, const Member& member, const LeaveFlight& flight) {
    std::vector<Operation> operations;
    if (!member.admitted) operations.push_back(list_children(member.path));
    operations.push_back(delete_node(member.node));
    // It is watched since it waited, and nobody is to be told of what we do ourselves.
    const bool forgets = !common.roster.is_awaited(member.node);
    common.submit(common.term_of(member),
                  {.operations = std::move(operations), .forgets = forgets ? member.node : ""},
                  [member, forgets, flight](Common& alive, const Answer& answer) {
                      // Somebody waits for it since, who was not to rely on its being watched.
                      if (forgets && alive.roster.is_awaited(member.node)) {
                          alive.stirred(member.session, member.node, Event::What::changed);
                      }
                      if (!answer.result.ok()) {
                          alive.remove_later({member.session, 0, member.node});
                          return flight->complete(answer.result.failure());
                      }
                      const auto& replies = answer.result.value();
                      State stood = State::admitted;
                      if (!member.admitted && !member.its_turn) {
                          stood = state_in(replies.front(), last_of(member.node));
                      }
                      alive.saw(member.path, false);
                      flight->complete(deleted(alive, replies.back(), stood, answer.repeated));
                  });
}

/// What nobody asks for again is this client's to end, also after a failure.
enum class Whose : std::uint8_t { own, anybodys };

/// The node has the resource's name, so it may be another one's by now, or soon.
void leave_barging(Common& common, Term term, const PlaceText& place, Whose whose,
                   const LeaveFlight& flight) {
    const auto ended = [place, whose, flight](Common& alive, Result<Standing> result) {
        if (!result.ok() && whose == Whose::own) alive.remove_later(place);
        flight->complete(std::move(result));
    };
    std::make_shared<Ending>(common, term, place, ended)->start(common);
}

/// One that a listing has shown, or that came with a session which is over: ended if it is still
/// the same one.
void leave_listed(Common& common, const PlaceText& place, const LeaveFlight& flight) {
    // With barging the node is the resource's own, and who has it holds it.
    const Term term = common.wire.any_term();
    if (!seat_of(last_of(place.node))) {
        return leave_barging(common, term, place, Whose::anybodys, flight);
    }
    const std::string parent = place.node.substr(0, place.node.rfind('/'));
    common.submit(term,
                  {.operations = {catch_up(), look_at_node(place.node),
                                  list_children(parent.empty() ? "/" : parent)}},
                  [term, place, flight](Common& alive, const Answer& answer) {
                      if (!answer.result.ok()) return flight->complete(answer.result.failure());
                      const auto& replies = answer.result.value();
                      const bool same = replies[1].ok() && replies[1].stat().czxid == place.made_by;
                      if (!same) return flight->complete(Standing{});
                      const State stood = state_in(replies[2], last_of(place.node));
                      alive.submit(term, {.operations = {delete_node(place.node)}},
                                   [stood, flight](Common& later, const Answer& last) {
                                       if (!last.result.ok())
                                           return flight->complete(last.result.failure());
                                       flight->complete(deleted(later, last.result.value().front(),
                                                                stood, last.repeated));
                                   });
                  });
}

/// All nodes with the nonce in line, and where the first of them stood; or the one with barging.
struct Found {
    std::vector<std::string> nodes;
    State stood = State::gone;
    std::optional<PlaceText> barging = std::nullopt;
};

Found find_nonce(const std::string& path, const Nonce& nonce, const Reply& listed,
                 const Reply& read) {
    Found found;
    const auto line = listed.ok() ? seats_in_order(listed.children()) : std::vector<Seat>{};
    for (const Seat& seat : line) {
        if (seat.nonce != nonce) continue;
        if (found.nodes.empty()) found.stood = state_in(listed, seat.node);
        found.nodes.push_back(below(path, seat.node));
    }
    if (!read.ok()) return found;
    const auto [data, stat] = read.content();
    const auto note = note_in(data);
    if (note && note->nonce == nonce) {
        found.barging = PlaceText{stat.ephemeral_owner, stat.czxid, path};
    }
    return found;
}

/// Its enter was never answered. After the leader was asked, whatever this session sent before is
/// seen; what comes later all the same is refused, or looked for.
void leave_unanswered(Common& common, const Ticket& ticket, const LeaveFlight& flight) {
    const std::string path = common.paths.of(ticket.resource);
    const Term term = common.doubted_in(ticket.nonce).value_or(common.wire.any_term());
    common.submit(term, {.operations = {catch_up(), list_children(path), read_node(path)}},
                  [term, path, nonce = ticket.nonce, flight](Common& alive, const Answer& answer) {
                      if (!answer.result.ok()) {
                          alive.doubt(term, path, nonce);
                          return flight->complete(answer.result.failure());
                      }
                      const auto& replies = answer.result.value();
                      const Found found = find_nonce(path, nonce, replies[1], replies[2]);
                      if (found.barging)
                          return leave_barging(alive, term, *found.barging, Whose::own, flight);
                      if (found.nodes.empty()) return flight->complete(Standing{});
                      std::vector<Operation> operations;
                      for (const std::string& node : found.nodes)
                          operations.push_back(delete_node(node));
                      alive.submit(term, {.operations = std::move(operations)},
                                   [term, path, nonce, stood = found.stood, flight](
                                       Common& later, const Answer& last) {
                                       if (!last.result.ok()) {
                                           later.doubt(term, path, nonce);
                                           return flight->complete(last.result.failure());
                                       }
                                       flight->complete(deleted(later, last.result.value().front(),
                                                                stood, last.repeated));
                                   });
                  });
}

}  // namespace

Pending<Standing> leave_line(const std::shared_ptr<Common>& common, const Ticket& ticket) {
    const auto flight = std::make_shared<Flight<Standing>>(common->wire);
    const auto place = place_in(ticket.place);
    // Its enter was never answered, or not each time: it may still come.
    const bool doubted = common->is_doubted(ticket.nonce);
    if (ticket.place.empty() || doubted) common->roster.bury(ticket.nonce, BootClock::now());
    const auto member = common->roster.remove(ticket.nonce);
    const bool waits_with_barging = member && member->node.empty();
    if (waits_with_barging && !doubted) return Standing{.state = State::waiting};
    const bool unanswered = !member && ticket.place.empty();
    if (waits_with_barging || unanswered) {
        leave_unanswered(*common, ticket, flight);
    } else if (member && member->is_barging()) {
        const auto czxid = static_cast<std::int64_t>(member->fence);
        leave_barging(*common, common->term_of(*member), {member->session, czxid, member->node},
                      Whose::own, flight);
    } else if (member) {
        leave_own(*common, *member, flight);
    } else if (place && !place->node.empty()) {
        leave_listed(*common, *place, flight);
    } else {
        // It waited with barging, which leaves nothing.
        return Standing{};
    }
    return Pending<Standing>(flight);
}

}  // namespace holdfast::inline v0::zookeeper
