#include "stores/etcd/protocol.hpp"

#include <holdfast/error.hpp>

#include "stores/etcd/transactions.hpp"
#include "stores/listed/note.hpp"

namespace holdfast::inline v0::etcd {

namespace {

using Listed = EtcdWire::AnswerTo<messages::RangeRequest>;
using Done = EtcdWire::AnswerTo<messages::TxnRequest>;

}  // namespace

void SingleFile::enter(const std::string& line, Go go) {
    {
        const std::lock_guard guard(mutex_);
        const auto [place, free] = waiting_.try_emplace(line);
        if (!free) return place->second.push_back(std::move(go));
    }
    if (!go(Before::was_served)) is_through(line, Before::was_served);
}

/// In a loop: thousands may have been given up, one behind the other.
void SingleFile::is_through(const std::string& line, Before before) {
    for (;;) {
        Go next = take_next(line);
        if (!next || next(before)) return;
    }
}

/// The first of those that wait for it; when there are none, nobody is about to come in.
SingleFile::Go SingleFile::take_next(const std::string& line) {
    const std::lock_guard guard(mutex_);
    const auto found = waiting_.find(line);
    if (found->second.empty()) {
        waiting_.erase(found);
        return {};
    }
    Go next = std::move(found->second.front());
    found->second.pop_front();
    return next;
}

void Doubts::add(const Nonce& nonce, std::int64_t lease) {
    const std::lock_guard guard(mutex_);
    leases_.insert_or_assign(nonce, lease);
}

bool Doubts::contains(const Nonce& nonce) const {
    const std::lock_guard guard(mutex_);
    return leases_.contains(nonce);
}

void Doubts::settled(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    leases_.erase(nonce);
}

void Doubts::lease_over(std::int64_t lease) {
    const std::lock_guard guard(mutex_);
    std::erase_if(leases_, [lease](const auto& one) { return one.second == lease; });
}

void Protocol::connect(const std::string& prefix) {
    wire_.listen(weak_from_this());
    leases.belong_to(weak_from_this());
    const auto flight = std::make_shared<Flight<bool>>(wire_);
    submit(read_key(prefix.empty() ? "holdfast" : prefix).request_range(),
           [flight](Protocol&, const Listed& answer) {
               // That a user may not read this key does not mean that he may use none.
               const bool known = answer.refusal == CallRefusal::denied;
               if (!answer.result.ok() && !known) return flight->complete(answer.result.failure());
               flight->complete(true);
           });
    const auto connected = Pending<bool>(flight).get();
    if (!connected.ok()) throw Error(connected.failure().code, connected.failure().sentence);
}

Pending<Standing> Protocol::look_at(const Entrant& entrant) {
    const auto flight = std::make_shared<Flight<Standing>>(wire_);
    // Of one that leaves no room for others, who is next before it is all that matters.
    const bool exclusive = entrant.contender.weight == entrant.contender.capacity;
    look(entrant, exclusive ? Depth::last_two : Depth::whole_line, flight);
    return Pending<Standing>(flight);
}

void Protocol::look(const Entrant& entrant, Depth depth,
                    const std::shared_ptr<Flight<Standing>>& flight) {
    const auto up_to = static_cast<std::int64_t>(entrant.fence);
    const auto operation =
        depth == Depth::last_two ? list_last(2, entrant.path, up_to) : list(entrant.path, up_to);
    submit(operation.request_range(), [entrant, depth, flight](Protocol& alive,
                                                               const Listed& answer) {
        if (!answer.result.ok()) return flight->complete(answer.result.failure());
        const auto& pairs = answer.result.value().kvs();
        const auto line = line_in(pairs, entrant.path);
        // The one before it may be of another line, whose name begins like this one's, or be
        // about to leave because it disagrees with those before it.
        const bool hidden = line.size() < static_cast<std::size_t>(pairs.size());
        const bool disagrees = !line.empty() && line.front().capacity != entrant.contender.capacity;
        if (depth == Depth::last_two && (hidden || disagrees)) {
            return alive.look(entrant, Depth::whole_line, flight);
        }
        if (!alive.lines.entrants.find(entrant.nonce())) return flight->complete(Standing{});
        const std::int64_t revision = answer.result.value().header().revision();
        flight->complete(alive.lines.stands(entrant, line, revision));
    });
}

void Protocol::watch(const Entrant& entrant) {
    const auto events = entrant.by_change ? Watches::Events::end_or_write : Watches::Events::end;
    for (const std::string& key : entrant.watched) wire_.watch(key, events, entrant.listed_at);
}

/// By being written again.
void Protocol::tell_those_behind(const Entrant& entrant) {
    messages::TxnRequest request;
    // Not over what was written since: it may be bound to another lease by then.
    *request.add_compare() = written_by(entrant.node, entrant.last_written());
    *request.add_success() = put(entrant.node, listed::note_of(entrant.contender), entrant.session);
    submit(std::move(request), [nonce = entrant.nonce()](Protocol& alive, const Done& answer) {
        if (!answer.result.ok() || !answer.result.value().succeeded()) return;
        alive.lines.entrants.written(nonce, answer.result.value().header().revision());
    });
}

void Protocol::take_out_behind(const Entrant& entrant, const Neighbour& other,
                               Callback<void()> is_out) {
    messages::TxnRequest request = deletion_of(entrant.incarnation());
    *request.add_compare() = made_by(other.node, other.order);
    submit(std::move(request), [told = std::move(is_out)](Protocol&, const Done& answer) {
        if (answer.result.ok() && answer.result.value().succeeded()) told();
    });
}

void Protocol::was_taken_out(const Entrant& entrant) {
    if (!doubts.contains(entrant.nonce())) return slots.give_back(entrant.nonce());
    // A copy of its enter that still comes is to find a guard.
    take_back(entrant);
}

void Protocol::take_back(const Entrant& entrant) {
    lines.remove({.incarnation = entrant.incarnation(), .nonce = entrant.nonce()});
}

bool Protocol::is_over(const Removal& removal) const {
    return !leases.find_by_id(removal.incarnation.session) && !doubts.contains(removal.nonce);
}

void Protocol::remove(const Removal& removal) {
    if (doubts.contains(removal.nonce)) return remove_behind_guard(removal);
    submit(deletion_of(removal.incarnation), [removal](Protocol& alive, const Done& answer) {
        // What is refused for another reason, as for want of time, may be done the next time.
        const bool denied = answer.refusal == CallRefusal::denied;
        if (!answer.result.ok() && !denied) return alive.lines.removal_unanswered(removal);
        if (answer.result.ok()) alive.slots.give_back(removal.nonce);
        alive.lines.was_removed(removal);
    });
}

/// Its enter may have been sent with another lease than that which it was bound to since.
void Protocol::outlived(const Entrant& entrant) {
    doubts.contains(entrant.nonce()) ? take_back(entrant) : slots.give_back(entrant.nonce());
}

/// A copy of its enter that still comes is refused then.
void Protocol::remove_behind_guard(const Removal& removal) {
    const auto resource = resource_of(removal.incarnation.node).value_or("");
    leave({resource, removal.nonce, {}})
        .then([weak = weak_from_this(), removal](const Result<Standing>& result) {
            const auto alive = weak.lock();
            if (!alive) return;
            result.ok() ? alive->lines.was_removed(removal)
                        : alive->lines.removal_unanswered(removal);
        });
}

void Protocol::look_again(const std::string& key, std::int64_t since) {
    submit(read_key(key).request_range(), [key, since](Protocol& alive, const Listed& answer) {
        if (answer.result.ok()) {
            const auto& pairs = answer.result.value().kvs();
            if (!pairs.empty() && pairs[0].mod_revision() <= since) return;
        }
        alive.unwatch(key);
        const bool ended = answer.result.ok() && answer.result.value().kvs().empty();
        alive.stirred(key, ended ? listed::NodeEvent::ended : listed::NodeEvent::changed);
    });
}

}  // namespace holdfast::inline v0::etcd
