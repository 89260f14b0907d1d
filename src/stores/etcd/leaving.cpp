#include <algorithm>
#include <optional>
#include <utility>

#include "port/sentences.hpp"
#include "stores/etcd/protocol.hpp"
#include "stores/etcd/transactions.hpp"

namespace holdfast::inline v0::etcd {

namespace {

using Answer = EtcdWire::AnswerTo<messages::TxnRequest>;
using Deleted = EtcdWire::AnswerTo<messages::DeleteRangeRequest>;
using LeaveFlight = std::shared_ptr<Flight<Standing>>;
using State = Standing::State;

/// Ends a hold of this client by its key alone, which costs a server less than a transaction. Its
/// slot is used again only when this was sent once, and answered: so no copy of it can meet another
/// contender. Until then it is nobody's: whoever asked may not wait for the answer, and ask again.
void end_hold(Protocol& protocol, const Incarnation& place, const Nonce& nonce,
              const LeaveFlight& flight) {
    messages::DeleteRangeRequest request;
    request.set_key(place.node);
    const Moment until = protocol.leases.end_of_interest(place.session);
    const auto slot = protocol.slots.retire(nonce);
    const auto ended = [slot, flight](Protocol& alive, const Deleted& answer) {
        const bool may_still_come = !answer.result.ok() || answer.repeated;
        if (slot && !may_still_come) alive.slots.free(*slot);
        if (!answer.result.ok()) return flight->complete(answer.result.failure());
        const bool was_there = answer.result.value().deleted() > 0;
        if (!was_there && answer.repeated)
            return flight->complete(perhaps_done(alive.cluster().shown()));
        flight->complete(Standing{.state = was_there ? State::admitted : State::gone});
    };
    protocol.submit(std::move(request), ended, until);
}

/// Ends exactly this incarnation, and finds out where it stood.
void end_place(Protocol& protocol, const Incarnation& place, const Nonce& nonce,
               const LeaveFlight& flight) {
    const std::string start = line_start(resource_of(place.node).value_or(""));
    messages::TxnRequest request;
    *request.add_compare() = made_by(place.node, place.made_by);
    *request.add_success() = list(start, place.made_by);
    *request.add_success() = delete_key(place.node);
    protocol.submit(
        std::move(request),
        [place, nonce, start, flight](Protocol& alive, const Answer& answer) {
            if (!answer.result.ok()) return flight->complete(answer.result.failure());
            const auto& response = answer.result.value();
            alive.slots.give_back(nonce);
            if (!response.succeeded()) {
                if (answer.repeated) return flight->complete(perhaps_done(alive.cluster().shown()));
                return flight->complete(Standing{});
            }
            const auto& pairs = response.responses(0).response_range().kvs();
            flight->complete(
                Standing{.state = listed::state_in(line_in(pairs, start), place.node)});
        },
        protocol.leases.end_of_interest(place.session));
}

/// All keys with the nonce in the list of a line.
std::vector<Neighbour> with_nonce(const std::vector<Neighbour>& line, const Nonce& nonce) {
    std::vector<Neighbour> found;
    std::ranges::copy_if(line, std::back_inserter(found),
                         [&](const Neighbour& one) { return one.nonce == nonce; });
    return found;
}

/// The end of one whose enter was never answered, or not each time: it may have come in, or may
/// yet.
struct Unanswered {
    Ticket ticket;
    std::optional<Incarnation> place;  ///< of one that is known to have come in
    LeaveFlight flight;

    void ended(Protocol& protocol, State state) const {
        protocol.slots.give_back(ticket.nonce);
        protocol.doubts.settled(ticket.nonce);
        flight->complete(Standing{.state = state});
    }
    /// Whoever asked may not ask again: then it is this client's to end.
    void failed(Protocol& protocol, const Failure& failure) const {
        if (place) protocol.lines.remove_later({.incarnation = *place, .nonce = ticket.nonce});
        flight->complete(failure);
    }
};

/// What has come in is in the list, and whatever comes later finds the guard. Should somebody else
/// end one of them meanwhile, the others are there still, and in the next list. `ended` is how
/// the one stood that an earlier copy of this has ended.
void end_found(Protocol& protocol, const Pairs& pairs, const Unanswered& one,
               State ended = State::gone) {
    const std::string start = line_start(one.ticket.resource);
    const auto line = line_in(pairs, start);
    const auto found = with_nonce(line, one.ticket.nonce);
    if (found.empty()) return one.ended(protocol, ended);
    const State stood = listed::state_in(line, found.front().node);
    messages::TxnRequest request;
    *request.add_failure() = list(start);
    for (const Neighbour& there : found) {
        *request.add_compare() = made_by(there.node, there.order);
        *request.add_success() = delete_key(there.node);
    }
    protocol.submit(std::move(request), [one, stood, ended](Protocol& alive, const Answer& answer) {
        if (!answer.result.ok()) return one.failed(alive, answer.result.failure());
        const auto& response = answer.result.value();
        if (response.succeeded()) return one.ended(alive, stood);
        end_found(alive, response.responses(0).response_range().kvs(), one,
                  answer.repeated ? stood : ended);
    });
}

void put_guard(Protocol& protocol, std::int64_t lease, const Unanswered& one) {
    const Ticket& ticket = one.ticket;
    messages::TxnRequest request;
    *request.add_success() = put(guard_of(ticket.resource, ticket.nonce), "holdfast", lease);
    *request.add_success() = list(line_start(ticket.resource));
    protocol.submit(std::move(request), [one, lease](Protocol& alive, const Answer& answer) {
        // The next time with another one.
        if (answer.refusal == CallRefusal::lease_not_found) alive.leases.forget_for_guard(lease);
        if (!answer.result.ok()) return one.failed(alive, answer.result.failure());
        end_found(alive, answer.result.value().responses(1).response_range().kvs(), one);
    });
}

void leave_unanswered(Protocol& protocol, const Unanswered& one) {
    protocol.leases.want_for_guard([weak = protocol.weak_from_this(),
                                    one](const Result<Lease>& lease) {
        const auto alive = weak.lock();
        if (!alive) return;
        lease.ok() ? put_guard(*alive, lease.value().id, one) : one.failed(*alive, lease.failure());
    });
}

}  // namespace

Pending<Standing> Protocol::leave(const Ticket& ticket) {
    const auto flight = std::make_shared<Flight<Standing>>(wire_);
    auto place = listed::incarnation_in(ticket.place);
    const auto entrant = lines.forget(ticket.nonce);
    // It may have been bound to another lease since.
    if (place && entrant) place->session = entrant->session;
    const bool may_still_come = ticket.place.empty() || doubts.contains(ticket.nonce);
    if (may_still_come) {
        leave_unanswered(*this, {ticket, place, flight});
    } else if (place && entrant && entrant->admitted) {
        end_hold(*this, *place, ticket.nonce, flight);
    } else if (place) {
        end_place(*this, *place, ticket.nonce, flight);
    } else {
        return Standing{};
    }
    return Pending<Standing>(flight);
}

}  // namespace holdfast::inline v0::etcd
