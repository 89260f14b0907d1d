#include "stores/zookeeper/entering.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "port/sentences.hpp"
#include "stores/listed/note.hpp"
#include "stores/zookeeper/failures.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

using State = Standing::State;
using Verdict = Judgement::Verdict;

/// With barging a lock needs its name for itself.
Failure name_not_free(const Ensemble& ensemble) {
    return {
        errc::conflict, Effect::none,
        ensemble.shown() +
            ": somebody is in its line, or has a name below it; barging allows neither, and all "
            "its users must agree"};
}

Usage usage_of(const Contender& contender) {
    return {contender.capacity, contender.fairness};
}
constexpr Usage barging_use{all, Fairness::barging};

/// Why the containers above a node, from the top, were not made; none when nothing is in the way of
/// making them once more.
Refusal refusal_of_way(std::span<const Reply> replies) {
    // One that is refused may be there all the same: whether it is, is known by what is below it.
    const auto last = std::find_if(replies.rbegin(), replies.rend(), [](const Reply& reply) {
        return reply.refusal != Refusal::no_node;
    });
    if (last == replies.rend() || last->refusal == Refusal::node_exists) return Refusal::none;
    return last->refusal;
}

}  // namespace

Entering::Entering(const std::shared_ptr<Protocol>& protocol, Contender contender,
                   std::shared_ptr<Protocol::EntryFlight> flight)
    : protocol_(protocol),
      contender_(std::move(contender)),
      flight_(std::move(flight)),
      path_(protocol->paths.of(contender_.resource)),
      term_(protocol->term_of(contender_)),
      deadline_(BootClock::now() + protocol->ensemble().request_timeout) {}

void Entering::start() {
    const auto protocol = protocol_.lock();
    if (protocol->doubts.is_buried(contender_.nonce)) {
        return fail(withdrawn());
    }
    if (contender_.resource.starts_with('/')) return fail(leading_slash(protocol->ensemble()));
    // Of the session that there is, or else the longest that was ever granted.
    const auto longest = protocol->wire().session(term_) != 0
                             ? protocol->wire().session_timeout(term_)
                             : protocol->wire().longest_session();
    if (contender_.lease > longest) {
        return fail(lease_too_long(contender_.lease, longest, protocol->ensemble()));
    }
    const auto known = protocol->lines.entrants.find(contender_.nonce);
    if (known && !known->node.empty()) return search(*protocol);
    const bool impatient = contender_.patience == Patience::none;
    if (impatient && !is_barging() && protocol->occupied.contains(path_))
        return look_first(*protocol);
    create(*protocol);
}

void Entering::send(Protocol& protocol, std::vector<Operation> operations, WhenLost when_lost,
                    Step step) {
    protocol.submit(term_,
                    {.operations = std::move(operations),
                     .when_lost = when_lost,
                     .deadline = deadline_,
                     .lease = contender_.lease},
                    [self = shared_from_this(), step](Protocol& alive, Answer answer) {
                        (self.get()->*step)(alive, std::move(answer));
                    });
}

Operation Entering::creation(const Protocol& protocol) const {
    const Access access = protocol.ensemble().access();
    if (is_barging())
        return create_node(path_, listed::note_of(contender_), Kind::ephemeral, access);
    return create_node(below(path_, node_name(contender_)), listed::note_of(contender_),
                       Kind::ephemeral_sequential, access);
}

/// The line was seen occupied: if it is so still, nothing is written. Asked of the leader's state:
/// a release that was seen elsewhere before is seen here.
void Entering::look_first(Protocol& protocol) {
    send(protocol, {catch_up(), list_children(path_)}, WhenLost::repeat, &Entering::looked);
}

void Entering::looked(Protocol& protocol, Answer answer) {
    if (!answer.result.ok()) return fail(answer.result.failure());
    const Reply& reply = answer.result.value()[1];
    const auto line = reply.ok() ? line_in(path_, reply.children()) : std::vector<Neighbour>{};
    line.empty() ? protocol.occupied.remove(path_) : protocol.occupied.add(path_);
    const Judgement judgement = listed::judge_newcomer(line, contender_);
    if (judgement.verdict == Verdict::conflict) {
        return fail(conflict({judgement.capacity_ahead}, usage_of(contender_)));
    }
    if (judgement.verdict == Verdict::waits) return finish_gone();
    create(protocol);
}

void Entering::create(Protocol& protocol) {
    made_at_ = 0;
    std::vector<Operation> operations{creation(protocol)};
    if (!is_barging()) operations.push_back(list_children(path_));
    send(protocol, std::move(operations), WhenLost::tell, &Entering::created);
}

/// With all containers above it, in the same volley: what is there already does not matter.
void Entering::make_way(Protocol& protocol) {
    std::vector<Operation> operations;
    for (const std::string& node : way_to(path_)) {
        if (is_barging() && node == path_) break;
        operations.push_back(create_node(node, "", Kind::container, protocol.ensemble().access()));
    }
    made_at_ = operations.size();
    operations.push_back(creation(protocol));
    if (!is_barging()) operations.push_back(list_children(path_));
    send(protocol, std::move(operations), WhenLost::tell, &Entering::created);
}

void Entering::created(Protocol& protocol, Answer answer) {
    if (!answer.result.ok()) {
        const bool lost = answer.result.failure().effect == Effect::unknown;
        if (lost) repeated_ = true;
        if (lost && has_time()) return search(protocol);
        return fail(answer.result.failure());
    }
    const auto& replies = answer.result.value();
    const Reply& made = replies[made_at_];
    if (!made.ok()) {
        const Refusal of_way = refusal_of_way(std::span(replies).first(made_at_));
        if (made.refusal == Refusal::no_node && of_way != Refusal::none) {
            return fail(failure_of(of_way, protocol.ensemble()));
        }
        return refused(protocol, made.refusal);
    }
    sent_ = answer.sent;
    auto [node, stat] = made.made();
    if (is_barging()) return judged(protocol, std::move(node), stat, {});
    const Reply& listed = replies[made_at_ + 1];
    listed_at_ = listed.zxid;
    if (tells_nothing(listed.refusal)) {
        return take_out(protocol, node, failure_of(listed.refusal, protocol.ensemble()));
    }
    judged(protocol, std::move(node), stat,
           listed.ok() ? listed.children() : std::vector<std::string>{});
}

void Entering::refused(Protocol& protocol, Refusal refusal) {
    if (refusal == Refusal::no_node && has_time()) return make_way(protocol);
    if (refusal == Refusal::no_children_for_ephemerals) {
        return fail(conflict(barging_use, usage_of(contender_)));
    }
    if (refusal == Refusal::node_exists && is_barging()) return look_at_holder(protocol);
    fail(failure_of(refusal, protocol.ensemble()));
}

/// After a lost connection, or when it is entered again. By a write, which shows all that was done
/// before as well: what is found is a hold perhaps, and its session is to be proved for it.
void Entering::search(Protocol& protocol) {
    const Operation seek = is_barging() ? read_node(path_) : list_children(path_);
    send(protocol, {write_nothing(), seek}, WhenLost::repeat, &Entering::searched);
}

void Entering::searched(Protocol& protocol, Answer answer) {
    if (!answer.result.ok()) {
        Failure failure = answer.result.failure();
        if (repeated_) failure.effect = Effect::unknown;
        return fail(std::move(failure));
    }
    if (is_barging()) return holder_seen(protocol, std::move(answer));
    const Reply& listed = answer.result.value()[1];
    if (tells_nothing(listed.refusal)) return fail(failure_of(listed.refusal, protocol.ensemble()));
    listed_at_ = listed.zxid;
    children_ = listed.ok() ? listed.children() : std::vector<std::string>{};
    candidates_.clear();
    for (const Neighbour& one : line_in(path_, children_)) {
        if (one.nonce == contender_.nonce) candidates_.push_back(one.node);
    }
    if (candidates_.empty()) {
        protocol.lines.entrants.remove(contender_.nonce);
        return create(protocol);
    }
    std::vector<Operation> looks;
    for (const std::string& node : candidates_) looks.push_back(look_at_node(node));
    send(protocol, std::move(looks), WhenLost::repeat, &Entering::examined);
}

/// The first of them that came with the present session is the contender; the others are copies, or
/// were left by a session that is over.
void Entering::examined(Protocol& protocol, Answer answer) {
    if (!answer.result.ok()) {
        Failure failure = answer.result.failure();
        failure.effect = Effect::unknown;
        return fail(std::move(failure));
    }
    std::optional<std::pair<std::string, Stat>> own;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
        const Reply& reply = answer.result.value()[i];
        if (!reply.ok()) continue;
        const Stat stat = reply.stat();
        if (!own && stat.ephemeral_owner == answer.session) {
            own.emplace(candidates_[i], stat);
        } else {
            protocol.remove_node(term_, candidates_[i]);
            std::erase(children_, std::string(last_of(candidates_[i])));
        }
    }
    if (!own) return create(protocol);
    sent_ = answer.sent;
    judged(protocol, own->first, own->second, children_);
}

void Entering::judged(Protocol& protocol, std::string node, const Stat& stat,
                      const std::vector<std::string>& children) {
    Entrant entrant{.contender = contender_,
                    .path = path_,
                    .node = std::move(node),
                    .session = stat.ephemeral_owner,
                    .fence = static_cast<std::uint64_t>(stat.czxid),
                    .lease_end = sent_ + contender_.lease,
                    .admitted = is_barging()};
    if (is_barging()) return finish(protocol, std::move(entrant), State::admitted);
    protocol.occupied.add(path_);
    const auto line = line_in(path_, children);
    const auto judgement = listed::judge(line, entrant.node);
    switch (judgement.verdict) {
        case Verdict::admitted:
            entrant.admitted = true;
            // They may have listed it as one that waits.
            if (line.back().node != entrant.node) protocol.lines.tell_those_behind(entrant);
            return finish(protocol, std::move(entrant), State::admitted);
        case Verdict::waits:
            return wait_in_line(protocol, std::move(entrant), judgement);
        case Verdict::conflict:
            return take_out_behind(protocol, entrant.node, judgement.barred_by,
                                   conflict({judgement.capacity_ahead}, usage_of(contender_)));
        case Verdict::absent:
            // Its session has ended, or somebody has removed it, between the two.
            return finish_gone();
    }
}

void Entering::wait_in_line(Protocol& protocol, Entrant entrant, const Judgement& judgement) {
    if (contender_.patience == Patience::none) {
        return take_out_behind(protocol, entrant.node, judgement.barred_by, gone());
    }
    protocol.lines.place(entrant, judgement, listed_at_);
    finish(protocol, std::move(entrant), State::waiting);
}

void Entering::look_at_holder(Protocol& protocol) {
    send(protocol, {catch_up(), read_node(path_)}, WhenLost::repeat, &Entering::holder_seen);
}

void Entering::holder_seen(Protocol& protocol, Answer answer) {
    if (!answer.result.ok()) return fail(answer.result.failure());
    const Reply& reply = answer.result.value()[1];
    if (!reply.ok()) {
        if (reply.refusal == Refusal::no_node && has_time()) return create(protocol);
        return fail(failure_of(reply.refusal, protocol.ensemble()));
    }
    const auto [data, stat] = reply.content();
    if (stat.ephemeral_owner == 0) return replace_container(protocol);
    const auto note = listed::note_in(data);
    const bool own = note && note->nonce == contender_.nonce;
    if (own && stat.ephemeral_owner == answer.session) {
        sent_ = answer.sent;
        return judged(protocol, path_, stat, {});
    }
    // What an earlier session has left goes with it; the name may be another one's next.
    if (contender_.patience == Patience::none) return finish_gone();
    wait_for_holder(protocol);
}

/// A container stands where the lock is to be. One that a line has left behind may go; should
/// another one have put its node there meanwhile, that stays.
void Entering::replace_container(Protocol& protocol) {
    send(protocol, {delete_lasting_node(path_, protocol.ensemble().access())}, WhenLost::repeat,
         &Entering::container_replaced);
}

void Entering::container_replaced(Protocol& protocol, Answer answer) {
    if (!answer.result.ok()) return fail(answer.result.failure());
    const Refusal refusal = answer.result.value().front().refused();
    const bool away = refusal == Refusal::none || refusal == Refusal::no_node ||
                      refusal == Refusal::no_children_for_ephemerals;
    if (away && has_time()) return create(protocol);
    if (away || refusal == Refusal::not_empty) return fail(name_not_free(protocol.ensemble()));
    fail(failure_of(refusal, protocol.ensemble()));
}

void Entering::wait_for_holder(Protocol& protocol) {
    sent_ = BootClock::now();
    finish(protocol,
           {.contender = contender_,
            .path = path_,
            .lease_end = sent_ + contender_.lease,
            .watched = {path_}},
           State::waiting);
}

/// Only while the other one is there. Else it may be the first by now, by which others are judged:
/// then it stays.
void Entering::take_out_behind(Protocol& protocol, const std::string& node, const Neighbour& other,
                               Result<std::vector<Entry>> result) {
    outcome_ = std::move(result);
    to_take_out_ = node;
    send(protocol, {delete_behind(node, other.node)}, WhenLost::repeat,
         &Entering::taken_out_behind);
}

void Entering::taken_out_behind(Protocol& protocol, Answer answer) {
    if (!answer.result.ok()) return take_out(protocol, to_take_out_, outcome_);
    const Refusal refusal = answer.result.value().front().refused();
    if (refusal == Refusal::none) return finish_out();
    // It may be another user's, who alone may look at it.
    const bool unknown = refusal != Refusal::no_node || !has_time();
    unknown ? take_out(protocol, to_take_out_, outcome_) : list_again(protocol);
}

void Entering::list_again(Protocol& protocol) {
    send(protocol, {write_nothing(), list_children(path_), look_at_node(to_take_out_)},
         WhenLost::repeat, &Entering::listed_again);
}

void Entering::listed_again(Protocol& protocol, Answer answer) {
    if (!answer.result.ok()) return take_out(protocol, to_take_out_, outcome_);
    const Reply& listed = answer.result.value()[1];
    const Reply& own = answer.result.value()[2];
    // An earlier copy of its deletion has done it.
    if (own.refusal == Refusal::no_node) return finish_out();
    if (!listed.ok() || !own.ok()) return take_out(protocol, to_take_out_, outcome_);
    listed_at_ = listed.zxid;
    sent_ = answer.sent;
    judged(protocol, to_take_out_, own.stat(), listed.children());
}

/// It is answered when nothing of it is left.
void Entering::take_out(Protocol& protocol, const std::string& node,
                        Result<std::vector<Entry>> result) {
    outcome_ = std::move(result);
    protocol.submit(term_, {.operations = {delete_node(node)}},
                    [self = shared_from_this()](Protocol& alive, const Answer& answer) {
                        Failure failure;
                        if (!answer.result.ok()) {
                            failure = answer.result.failure();
                        } else if (const auto refusal = answer.result.value().front().refusal;
                                   tells_nothing(refusal)) {
                            failure = failure_of(refusal, alive.ensemble());
                        } else {
                            return self->finish_out();
                        }
                        failure.effect = Effect::unknown;
                        self->fail(std::move(failure));
                    });
}

void Entering::finish_out() {
    outcome_.ok() ? finish_gone() : fail(outcome_.failure());
}

void Entering::finish(Protocol& protocol, Entrant entrant, State state) {
    Entry entry{.ticket = entrant.ticket(), .standing = {.state = state}};
    if (state == State::admitted) entry.standing.fence = entrant.fence;
    if (!entrant.node.empty()) {
        entry.standing.counted_from = protocol.wire().counted_from(term_, sent_, contender_.lease);
    }
    const Entrant added = entrant;
    protocol.lines.entrants.add(std::move(entrant));
    if (repeated_) protocol.doubt(term_, path_, contender_.nonce);
    // It may have ended before the contender was known to be in it, or been shortened.
    if (added.session != 0 && protocol.wire().session(term_) != added.session) {
        protocol.session_over(added.session);
        return finish_gone();
    }
    if (added.session != 0 && protocol.wire().session_timeout(term_) < contender_.lease) {
        protocol.withdraw(added);
        return finish_gone();
    }
    flight_->complete(std::vector<Entry>{std::move(entry)});
}

std::vector<Entry> Entering::gone() const {
    return {{.ticket = {contender_.resource, contender_.nonce, {}}, .standing = {}}};
}

void Entering::finish_gone() {
    const auto protocol = protocol_.lock();
    if (protocol && repeated_) {
        protocol->doubts.bury(contender_.nonce, BootClock::now());
        protocol->doubt(term_, path_, contender_.nonce);
    }
    flight_->complete(gone());
}

void Entering::fail(Failure failure) {
    const auto protocol = protocol_.lock();
    if (repeated_) failure.effect = Effect::unknown;
    if (protocol && failure.effect == Effect::unknown) {
        protocol->doubt(term_, path_, contender_.nonce);
    }
    flight_->complete(std::move(failure));
}

void Protocol::enter(std::span<const Contender> contenders, std::shared_ptr<EntryFlight> flight) {
    std::make_shared<Entering>(shared_from_this(), contenders.front(), std::move(flight))->start();
}

/// With barging whoever is woken tries to take it.
Pending<Standing> Protocol::take_if_free(const Entrant& entrant) {
    const auto entered = std::make_shared<EntryFlight>(wire_);
    const auto flight = std::make_shared<Flight<Standing>>(wire_);
    Pending<std::vector<Entry>> entering(entered);
    std::make_shared<Entering>(shared_from_this(), entrant.contender, entered)->start();
    std::move(entering).then([flight, weak = weak_from_this(),
                              nonce = entrant.nonce()](const Result<std::vector<Entry>>& result) {
        if (!result.ok()) return flight->complete(result.failure());
        if (const auto alive = weak.lock()) alive->lines.arm(nonce);
        Standing standing = result.value().front().standing;
        standing.counted_from.reset();
        flight->complete(standing);
    });
    return Pending<Standing>(flight);
}

}  // namespace holdfast::inline v0::zookeeper
