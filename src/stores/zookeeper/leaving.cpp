#include <algorithm>
#include <memory>
#include <utility>

#include "port/sentences.hpp"
#include "stores/listed/first_exception.hpp"
#include "stores/listed/note.hpp"
#include "stores/zookeeper/failures.hpp"
#include "stores/zookeeper/protocol.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

using LeaveFlight = std::shared_ptr<Flight<Standing>>;
using State = Standing::State;

/// The end of one incarnation. Its node is deleted only after a look that has shown it, and after a
/// lost connection only after another look: a deletion that is repeated blindly would hit whoever
/// came next.
///
///     sync, look ──▶ it is the same ──▶ delete ──▶ answered
///         ▲                                └── the connection broke ──┐
///         └───────────────────────────────────────────────────────────┘
class Ending : public std::enable_shared_from_this<Ending> {
public:
    /// Of a node of the session of that term, or of another client's.
    Ending(Protocol& protocol, Term term, Incarnation place)
        : protocol_(protocol.weak_from_this()),
          term_(term),
          place_(std::move(place)),
          deadline_(BootClock::now() + protocol.ensemble().request_timeout) {}
    /// Where something has thrown (no memory, say) and nobody goes on with it, those who wait for
    /// it are told all the same.
    ~Ending() {
        const auto protocol = protocol_.lock();
        if (!begun_ || !protocol) return;
        try {
            ended(*protocol, Failure{errc::unreachable, Effect::unknown,
                                     protocol->shown() + ": this process could not go on with it; "
                                                         "it may be out of memory"});
        } catch (...) {
            // All of them were told.
        }
    }

    /// Unless it is being ended already.
    void begin(Protocol& protocol, Endings::Ended told) {
        begun_ = protocol.endings.begins(place_, std::move(told));
        if (begun_) look(protocol);
    }

private:
    void look(Protocol& protocol) {
        protocol.submit(
            term_, {.operations = {catch_up(), look_at_node(place_.node)}, .deadline = deadline_},
            [self = shared_from_this()](Protocol& alive, const Answer& answer) {
                self->looked(alive, answer);
            });
    }

    void looked(Protocol& protocol, const Answer& answer) {
        if (!answer.result.ok()) {
            Failure failure = answer.result.failure();
            if (tried_) failure.effect = Effect::unknown;
            return ended(protocol, std::move(failure));
        }
        const Reply& reply = answer.result.value()[1];
        if (tells_nothing(reply.refusal)) {
            return ended(protocol, failure_of(reply.refusal, protocol.ensemble()));
        }
        const bool same = reply.ok() && reply.stat().czxid == place_.made_by;
        // What a session of ours has left goes with it, and the next one deletes nothing of it.
        if (!same || protocol.wire().is_past(place_.session)) return gone(protocol);
        // The leader has just heard of this session, so it cannot end before: what is sent until
        // then is not sent by a later session, after the end of what was looked at.
        const Moment limit = answer.sent + protocol.wire().session_timeout(term_);
        BootClock::now() >= limit ? look(protocol) : remove(protocol, limit);
    }

    void remove(Protocol& protocol, Moment limit) {
        protocol.submit(term_,
                        {.operations = {delete_node(place_.node)},
                         .when_lost = WhenLost::tell,
                         .deadline = std::min(deadline_, limit)},
                        [self = shared_from_this()](Protocol& alive, const Answer& answer) {
                            self->removed(alive, answer);
                        });
    }

    void removed(Protocol& protocol, const Answer& answer) {
        if (!answer.result.ok()) {
            tried_ = tried_ || answer.result.failure().effect == Effect::unknown;
            if (BootClock::now() < deadline_) return look(protocol);
            return ended(protocol, answer.result.failure());
        }
        const Reply& reply = answer.result.value().front();
        if (reply.ok()) return ended(protocol, Standing{.state = State::admitted});
        if (reply.refusal == Refusal::no_node) return gone(protocol);
        ended(protocol, failure_of(reply.refusal, protocol.ensemble()));
    }

    void gone(Protocol& protocol) {
        if (tried_) return ended(protocol, perhaps_done(protocol.ensemble().shown()));
        ended(protocol, Standing{});
    }

    void ended(Protocol& protocol, const Result<Standing>& result) {
        begun_ = false;
        listed::FirstException first;
        for (const Endings::Ended& told : protocol.endings.is_over(place_)) {
            first.of([&] { told(protocol, result); });
        }
        first.rethrow();
    }

    const std::weak_ptr<Protocol> protocol_;
    const Term term_;
    const Incarnation place_;
    const Moment deadline_;
    bool begun_ = false;  ///< and not ended
    bool tried_ = false;  ///< an earlier deletion may have done it
};

/// By the session of that term, unless it is being ended already. Not told when the protocol is
/// gone by then.
void end_incarnation(Protocol& protocol, Term term, const Incarnation& place,
                     Endings::Ended ended) {
    std::make_shared<Ending>(protocol, term, place)->begin(protocol, std::move(ended));
}

/// What the deletion of a node that stood like this means.
Result<Standing> deleted(const Protocol& protocol, const Reply& reply, State stood, bool repeated) {
    if (reply.ok()) return Standing{.state = stood};
    if (reply.refusal != Refusal::no_node) return failure_of(reply.refusal, protocol.ensemble());
    if (repeated) return perhaps_done(protocol.ensemble().shown());
    return Standing{};
}

/// The same of several, of which the first stood like this.
Result<Standing> all_deleted(const Protocol& protocol, const std::vector<Reply>& replies,
                             State stood, bool repeated) {
    const auto refused = std::ranges::find_if(
        replies, [](const Reply& reply) { return tells_nothing(reply.refusal); });
    return deleted(protocol, refused == replies.end() ? replies.front() : *refused, stood,
                   repeated);
}

/// A contender of our own that has its node. One that waits may be admitted without knowing it.
void leave_own(Protocol& protocol, const Entrant& entrant, const LeaveFlight& flight) {
    std::vector<Operation> operations;
    if (!entrant.admitted) operations.push_back(list_children(entrant.path));
    operations.push_back(delete_node(entrant.node));
    // It is watched since it waited, and nobody is to be told of what we do ourselves.
    const bool forgets = !protocol.lines.entrants.is_awaited(entrant.node);
    protocol.submit(protocol.term_of(entrant),
                    {.operations = std::move(operations), .forgets = forgets ? entrant.node : ""},
                    [entrant, forgets, flight](Protocol& alive, const Answer& answer) {
                        // Somebody waits for it since, who was not to rely on its being watched.
                        if (forgets && alive.lines.entrants.is_awaited(entrant.node)) {
                            alive.stirred(entrant.session, entrant.node, Event::What::changed);
                        }
                        if (!answer.result.ok()) {
                            alive.remove_later({entrant.session, 0, entrant.node});
                            return flight->complete(answer.result.failure());
                        }
                        const auto& replies = answer.result.value();
                        State stood = State::admitted;
                        if (!entrant.admitted && !entrant.its_turn) {
                            stood = listed::state_in(line_by(replies.front(), entrant.path),
                                                     entrant.node);
                        }
                        alive.occupied.remove(entrant.path);
                        flight->complete(deleted(alive, replies.back(), stood, answer.repeated));
                    });
}

/// What nobody asks for again is this client's to end, also after a failure.
enum class Whose : std::uint8_t { own, anybodys };

/// The node has the resource's name, so it may be another one's by now, or soon.
void leave_barging(Protocol& protocol, Term term, const Incarnation& place, Whose whose,
                   const LeaveFlight& flight) {
    end_incarnation(protocol, term, place,
                    [place, whose, flight](Protocol& alive, const Result<Standing>& result) {
                        if (!result.ok() && whose == Whose::own) alive.remove_later(place);
                        flight->complete(result);
                    });
}

/// With barging the node is the resource's own, and who has it holds it.
void leave_listed_barging(Protocol& protocol, const Incarnation& place, const LeaveFlight& flight) {
    const ZookeeperWire& wire = protocol.wire();
    // It goes with its session, and the name is perhaps another one's already.
    if (wire.is_past(place.session)) return flight->complete(Standing{});
    // By its own session where that is ours, behind all that was sent in it for the same end.
    const Term term = wire.term_of(place.session).value_or(wire.any_term());
    leave_barging(protocol, term, place, Whose::anybodys, flight);
}

/// One that a listing has shown, or that came with a session which is over: ended if it is still
/// the same one.
void leave_listed(Protocol& protocol, const Incarnation& place, const LeaveFlight& flight) {
    if (!neighbour_of(last_of(place.node))) return leave_listed_barging(protocol, place, flight);
    const Term term = protocol.wire().any_term();
    const std::string parent = parent_of(place.node);
    protocol.submit(
        term, {.operations = {catch_up(), look_at_node(place.node), list_children(parent)}},
        [term, place, parent, flight](Protocol& alive, const Answer& answer) {
            if (!answer.result.ok()) return flight->complete(answer.result.failure());
            const auto& replies = answer.result.value();
            const bool same = replies[1].ok() && replies[1].stat().czxid == place.made_by;
            if (!same) return flight->complete(Standing{});
            const State stood = listed::state_in(line_by(replies[2], parent), place.node);
            alive.submit(term, {.operations = {delete_node(place.node)}},
                         [stood, flight](Protocol& later, const Answer& last) {
                             if (!last.result.ok()) return flight->complete(last.result.failure());
                             flight->complete(
                                 deleted(later, last.result.value().front(), stood, last.repeated));
                         });
        });
}

/// All nodes with the nonce in line, and where the first of them stood; or the one with barging.
struct Found {
    std::vector<std::string> nodes;
    State stood = State::gone;
    std::optional<Incarnation> barging = std::nullopt;
};

Found find_nonce(const std::string& path, const Nonce& nonce, const Reply& listed,
                 const Reply& read) {
    Found found;
    const auto line = line_by(listed, path);
    for (const Neighbour& one : line) {
        if (one.nonce != nonce) continue;
        if (found.nodes.empty()) found.stood = listed::state_in(line, one.node);
        found.nodes.push_back(one.node);
    }
    if (!read.ok()) return found;
    const auto [data, stat] = read.content();
    const auto note = listed::note_in(data);
    if (note && note->nonce == nonce) {
        found.barging = Incarnation{stat.ephemeral_owner, stat.czxid, path};
    }
    return found;
}

/// Its enter was never answered. After the leader was asked, whatever this session sent before is
/// seen; what comes later all the same is refused, or looked for.
void leave_unanswered(Protocol& protocol, const Ticket& ticket, const LeaveFlight& flight) {
    const std::string path = protocol.paths.of(ticket.resource);
    const Term term = protocol.doubts.term_of(ticket.nonce).value_or(protocol.wire().any_term());
    protocol.submit(
        term, {.operations = {catch_up(), list_children(path), read_node(path)}},
        [term, path, nonce = ticket.nonce, flight](Protocol& alive, const Answer& answer) {
            if (!answer.result.ok()) {
                alive.doubt(term, path, nonce);
                return flight->complete(answer.result.failure());
            }
            const auto& replies = answer.result.value();
            const Found found = find_nonce(path, nonce, replies[1], replies[2]);
            const bool stays = found.barging && !alive.wire().is_past(found.barging->session);
            if (stays) return leave_barging(alive, term, *found.barging, Whose::own, flight);
            if (found.nodes.empty()) return flight->complete(Standing{});
            std::vector<Operation> operations;
            for (const std::string& node : found.nodes) operations.push_back(delete_node(node));
            alive.submit(
                term, {.operations = std::move(operations)},
                [term, path, nonce, stood = found.stood, flight](Protocol& later,
                                                                 const Answer& last) {
                    if (!last.result.ok()) {
                        later.doubt(term, path, nonce);
                        return flight->complete(last.result.failure());
                    }
                    flight->complete(all_deleted(later, last.result.value(), stood, last.repeated));
                });
        });
}

}  // namespace

Pending<Standing> Protocol::leave(const Ticket& ticket) {
    const auto flight = std::make_shared<Flight<Standing>>(wire_);
    const auto place = listed::incarnation_in(ticket.place);
    // Before anything else: what is about to come in finds that it has left.
    const auto entrant = lines.entrants.remove(ticket.nonce);
    // Its enter was never answered, or not each time: it may still come.
    const bool doubted = doubts.contains(ticket.nonce);
    if (ticket.place.empty() || doubted) doubts.bury(ticket.nonce, BootClock::now());
    const bool waits_with_barging = entrant && entrant->node.empty();
    if (waits_with_barging && !doubted) return Standing{.state = State::waiting};
    const bool unanswered = !entrant && ticket.place.empty();
    if (waits_with_barging || unanswered) {
        leave_unanswered(*this, ticket, flight);
    } else if (entrant && entrant->is_barging()) {
        leave_barging(*this, term_of(*entrant), entrant->incarnation(), Whose::own, flight);
    } else if (entrant) {
        leave_own(*this, *entrant, flight);
    } else if (place && !place->node.empty()) {
        leave_listed(*this, *place, flight);
    } else {
        // It waited with barging, which leaves nothing.
        return Standing{};
    }
    return Pending<Standing>(flight);
}

void Protocol::remove(const Removal& removal) {
    const auto tell = [removal](Protocol& alive, bool answered) {
        answered ? alive.lines.was_removed(removal) : alive.lines.removal_unanswered(removal);
    };
    if (removal.incarnation.made_by != 0) {
        end_incarnation(
            *this, removal.term, removal.incarnation,
            [tell](Protocol& alive, const Result<Standing>& result) { tell(alive, result.ok()); });
        return;
    }
    submit(removal.term, {.operations = {delete_node(removal.incarnation.node)}},
           [tell](Protocol& alive, const Answer& answer) {
               const auto& result = answer.result;
               tell(alive, result.ok() && is_of_majority(result.value().front().refusal));
           });
}

}  // namespace holdfast::inline v0::zookeeper
