#include "stores/etcd/entering.hpp"

#include <algorithm>
#include <utility>

#include "port/sentences.hpp"
#include "stores/etcd/transactions.hpp"
#include "stores/listed/note.hpp"

namespace holdfast::inline v0::etcd {

namespace {

using State = Standing::State;
using Verdict = Judgement::Verdict;

/// Three comparisons for each of them.
constexpr std::size_t most_together = most_operations / 3;

}  // namespace

/// Of too many the first ones come in, and whoever asked goes on with the others.
Entering::Entering(const std::shared_ptr<Protocol>& protocol, std::span<const Contender> contenders,
                   std::shared_ptr<Protocol::EntryFlight> flight)
    : protocol_(protocol),
      contenders_(contenders.begin(), contenders.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                               contenders.size(), most_together))),
      flight_(std::move(flight)),
      deadline_(BootClock::now() + protocol->cluster().request_timeout) {}

void Entering::start() {
    const auto protocol = protocol_.lock();
    for (const Contender& one : contenders_) slots_.push_back(protocol->slots.take(one.nonce));
    if (!waits_alone()) return get_lease(*protocol);
    protocol->turnstile.enter(contenders_[0].resource, [self = shared_from_this()] {
        if (const auto alive = self->protocol_.lock()) self->get_lease(*alive);
    });
}

bool Entering::waits_alone() const {
    return contenders_.size() == 1 && contenders_[0].patience == Patience::wait;
}

/// So many of the contenders have a key, or may have one.
std::size_t Entering::used_slots(const Result<std::vector<Entry>>& result) const {
    if (!result.ok()) return result.failure().effect == Effect::none ? 0 : contenders_.size();
    const auto& entries = result.value();
    return entries.back().standing.state == State::gone ? 0 : entries.size();
}

void Entering::complete(Result<std::vector<Entry>> result) {
    if (const auto protocol = protocol_.lock()) {
        if (waits_alone()) protocol->turnstile.is_through(contenders_[0].resource);
        for (std::size_t i = used_slots(result); i < contenders_.size(); ++i) {
            protocol->slots.give_back(contenders_[i].nonce);
        }
    }
    flight_->complete(std::move(result));
}

void Entering::get_lease(Protocol& protocol) {
    protocol.leases.want(contenders_.front().lease, line_start(contenders_.front().resource),
                         [self = shared_from_this()](const Result<Lease>& lease) {
                             if (!lease.ok()) return self->fail(lease.failure());
                             self->lease_ = lease.value();
                             self->name_keys();
                             const auto alive = self->protocol_.lock();
                             if (!alive) return;
                             self->send(*alive, {self->contenders_.size(), self->waits_alone()});
                         });
}

void Entering::name_keys() {
    keys_.clear();
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
        keys_.push_back(key_of(contenders_[i].resource, lease_.id, slots_[i]));
    }
}

bool Entering::is_exclusive(std::size_t index) const {
    return contenders_[index].weight == contenders_[index].capacity;
}

Failure Entering::in_conflict(std::size_t index, std::uint64_t capacity_ahead) const {
    return conflict({.capacity = capacity_ahead}, {.capacity = contenders_[index].capacity});
}

void Entering::send(Protocol& protocol, Plan plan) {
    protocol.submit(transaction(plan),
                    [self = shared_from_this(), plan](Protocol& alive, Answer answer) {
                        self->answered(alive, plan, std::move(answer));
                    },
                    {.deadline = deadline_});
}

messages::TxnRequest Entering::transaction(Plan plan) const {
    messages::TxnRequest request;
    if (plan.last_waits) {
        // Before it comes in: of an empty line there is nothing to read, and to send.
        const std::string start = line_start(contenders_[plan.count - 1].resource);
        *request.add_success() = is_exclusive(plan.count - 1) ? list_last(1, start) : list(start);
    }
    for (std::size_t i = 0; i < plan.count; ++i) {
        const Contender& one = contenders_[i];
        *request.add_compare() = absent(keys_[i]);
        *request.add_compare() = absent(guard_of(one.resource, one.nonce));
        const bool may_wait = plan.last_waits && i + 1 == plan.count;
        if (!may_wait) *request.add_compare() = none_since(line_start(one.resource), seen_at_);
        *request.add_success() = put(keys_[i], listed::note_of(one), lease_.id);
    }
    // That one which may wait cannot come in is so rare that it is asked about only then.
    if (!waits_alone()) see_all(*request.mutable_failure());
    return request;
}

/// Their guards and lines.
void Entering::see_all(Operations& operations) const {
    for (const Contender& one : contenders_) {
        *operations.Add() = read(guard_of(one.resource, one.nonce));
        *operations.Add() = list(line_start(one.resource));
    }
}

void Entering::answered(Protocol& protocol, Plan plan, Answer answer) {
    repeated_ = repeated_ || answer.repeated;
    if (answer.refusal == Refusal::lease_not_found) {
        protocol.leases.over(lease_.id);
        if (has_time()) return get_lease(protocol);
    }
    if (!answer.result.ok()) return fail(answer.result.failure());
    sent_ = answer.sent;
    const auto& response = answer.result.value();
    if (response.succeeded()) return came_in(protocol, plan, response);
    waits_alone() ? ask_why(protocol) : seen(protocol, response);
}

void Entering::ask_why(Protocol& protocol) {
    messages::TxnRequest request;
    see_all(*request.mutable_success());
    protocol.submit(std::move(request),
                    [self = shared_from_this()](Protocol& alive, const Answer& answer) {
                        // It may be there, by an earlier copy of its request.
                        if (!answer.result.ok()) return self->fail_unknown(answer.result.failure());
                        self->seen(alive, answer.result.value());
                    },
                    {.deadline = deadline_});
}

void Entering::came_in(Protocol& protocol, Plan plan, const messages::TxnResponse& response) {
    made_by_ = response.header().revision();
    const std::size_t admitted = plan.last_waits ? plan.count - 1 : plan.count;
    for (std::size_t i = 0; i < admitted; ++i) add(protocol, entrant(i, made_by_), State::admitted);
    if (!plan.last_waits) return finish(protocol);
    last_came_in(protocol, plan, response);
}

void Entering::last_came_in(Protocol& protocol, Plan plan, const messages::TxnResponse& response) {
    const std::size_t last = plan.count - 1;
    const std::string start = line_start(contenders_[last].resource);
    const auto& pairs = response.responses(0).response_range().kvs();
    auto line = line_in(pairs, start);
    // The one before it may be of another line, whose name begins like this one's, or be about to
    // leave because it disagrees with those before it.
    const bool hidden = line.size() < static_cast<std::size_t>(pairs.size());
    const bool disagrees = !line.empty() && line.back().capacity != contenders_[last].capacity;
    if (is_exclusive(last) && (hidden || disagrees)) return list_last_line(protocol, plan);
    const Contender& own = contenders_[last];
    line.push_back({.node = keys_[last], .weight = own.weight, .capacity = own.capacity});
    judge_last(protocol, plan, line);
}

void Entering::list_last_line(Protocol& protocol, Plan plan) {
    messages::TxnRequest request;
    const std::string start = line_start(contenders_[plan.count - 1].resource);
    *request.add_success() = list(start, made_by_);
    protocol.submit(
        std::move(request),
        [self = shared_from_this(), plan, start](Protocol& alive, const Answer& answer) {
            if (!answer.result.ok()) return self->fail_unknown(answer.result.failure());
            const auto& pairs = answer.result.value().responses(0).response_range().kvs();
            self->judge_last(alive, plan, line_in(pairs, start));
        },
        {.deadline = deadline_});
}

void Entering::judge_last(Protocol& protocol, Plan plan, const std::vector<Neighbour>& line) {
    const std::size_t last = plan.count - 1;
    Entrant own = entrant(last, made_by_);
    const auto judgement = listed::judge(line, own.node);
    switch (judgement.verdict) {
        case Verdict::admitted:
            add(protocol, std::move(own), State::admitted);
            return finish(protocol);
        case Verdict::waits:
            return last_waits(protocol, last, judgement);
        case Verdict::conflict:
            return last_disagrees(protocol, plan, judgement);
        case Verdict::absent:
            // Somebody has removed it, or its lease has ended, between the two.
            return take_out(protocol, plan.count, std::vector<Entry>{});
    }
}

void Entering::last_waits(Protocol& protocol, std::size_t last, const Judgement& judgement) {
    Entrant own = entrant(last, made_by_);
    protocol.lines.place(own, judgement, made_by_);
    add(protocol, std::move(own), State::waiting);
    finish(protocol);
}

/// Taken out while those are there that it disagrees with, and only then. Else it may be the first
/// by now, by which others are judged: then it stays.
void Entering::last_disagrees(Protocol& protocol, Plan plan, const Judgement& judgement) {
    const std::size_t last = plan.count - 1;
    messages::TxnRequest request;
    *request.add_compare() = made_by(keys_[last], made_by_);
    *request.add_compare() = made_by(judgement.barred_by.node, judgement.barred_by.order);
    *request.add_success() = delete_key(keys_[last]);
    *request.add_failure() = list(line_start(contenders_[last].resource), made_by_);
    protocol.submit(
        std::move(request),
        [self = shared_from_this(), plan, judgement](Protocol& alive, const Answer& answer) {
            self->last_taken_out(alive, plan, judgement, answer);
        },
        {.deadline = deadline_});
}

void Entering::last_taken_out(Protocol& protocol, Plan plan, const Judgement& judgement,
                              const Answer& answer) {
    const std::size_t last = plan.count - 1;
    const Failure refused = in_conflict(last, judgement.capacity_ahead);
    if (!answer.result.ok()) return take_out(protocol, plan.count, refused);
    const auto& response = answer.result.value();
    if (response.succeeded()) return take_out(protocol, last, refused);
    sent_ = answer.sent;
    const std::string start = line_start(contenders_[last].resource);
    const auto line = line_in(response.responses(0).response_range().kvs(), start);
    const bool there = std::ranges::find(line, keys_[last], &Neighbour::node) != line.end();
    // Else an earlier copy of the request has done it.
    there ? judge_last(protocol, plan, line) : take_out(protocol, last, refused);
}

/// Nothing was written. The answer tells who is there instead.
void Entering::seen(Protocol& protocol, const messages::TxnResponse& response) {
    seen_at_ = response.header().revision();
    if (is_guarded(response)) return fail(withdrawn());
    const Lists lines = lines_in(response);
    if (change_slots(protocol, lines)) return look(protocol, lines);
    const bool there =
        std::ranges::find(lines.front(), keys_[0], &Neighbour::node) != lines.front().end();
    if (there) return found(protocol, lines);
    look(protocol, lines);
}

/// Where a key of this client is there that it does not know of any more. Whether it was so.
bool Entering::change_slots(Protocol& protocol, const Lists& lines) {
    bool changed = false;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
        const auto own = std::ranges::find(lines[i], keys_[i], &Neighbour::node);
        if (own == lines[i].end() || own->nonce == contenders_[i].nonce) continue;
        protocol.slots.retire(contenders_[i].nonce);
        slots_[i] = protocol.slots.take(contenders_[i].nonce);
        changed = true;
    }
    if (changed) name_keys();
    return changed;
}

bool Entering::is_guarded(const messages::TxnResponse& response) const {
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
        const auto& guard = response.responses(static_cast<int>(2 * i)).response_range();
        if (!guard.kvs().empty()) return true;
    }
    return false;
}

Entering::Lists Entering::lines_in(const messages::TxnResponse& response) const {
    Lists lists;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
        const auto& listed = response.responses(static_cast<int>(2 * i + 1)).response_range();
        lists.push_back(line_in(listed.kvs(), line_start(contenders_[i].resource)));
    }
    return lists;
}

/// An earlier copy of the request has done it, or it was entered before.
void Entering::found(Protocol& protocol, const Lists& lines) {
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
        const auto own = std::ranges::find(lines[i], keys_[i], &Neighbour::node);
        if (own == lines[i].end()) break;
        const auto judgement = listed::judge(lines[i], own->node);
        Entrant known = entrant(i, own->order);
        if (judgement.verdict == Verdict::admitted) {
            add(protocol, std::move(known), State::admitted);
            continue;
        }
        if (judgement.verdict == Verdict::conflict) {
            made_by_ = own->order;
            return last_disagrees(protocol, {i + 1, true}, judgement);
        }
        if (known.contender.patience == Patience::none) {
            made_by_ = own->order;
            return take_out(protocol, i + 1, std::vector<Entry>{});
        }
        protocol.lines.place(known, judgement, seen_at_);
        add(protocol, std::move(known), State::waiting);
        break;
    }
    finish(protocol);
}

/// Where they would stand, each at the end of its line.
void Entering::look(Protocol& protocol, const Lists& lines) {
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
        const Contender& one = contenders_[i];
        const auto judgement = listed::judge_newcomer(lines[i], one);
        if (judgement.verdict == Verdict::conflict) {
            return fail(in_conflict(i, judgement.capacity_ahead));
        }
        if (judgement.verdict == Verdict::admitted) continue;
        if (one.patience == Patience::none) return finish_gone();
        return send(protocol, {i + 1, true});
    }
    if (!has_time()) {
        return fail({errc::unreachable, Effect::none,
                     protocol.cluster().shown() +
                         ": others came in between, again and again; try once more"});
    }
    send(protocol, {contenders_.size(), false});
}

Entrant Entering::entrant(std::size_t index, std::int64_t made_by) const {
    const Contender& one = contenders_[index];
    return {.contender = one,
            .path = line_start(one.resource),
            .node = keys_[index],
            .session = lease_.id,
            .fence = static_cast<std::uint64_t>(made_by),
            .lease_end = sent_ + one.lease,
            .doubted = repeated_};
}

void Entering::add(Protocol& protocol, Entrant entrant, State state) {
    entrant.admitted = state == State::admitted;
    Entry entry{.ticket = entrant.ticket(), .standing = {.state = state}};
    if (entrant.admitted) entry.standing.fence = entrant.fence;
    entry.standing.counted_from = lease_.counted_from(sent_, entrant.contender.lease);
    protocol.lines.entrants.add(std::move(entrant));
    entries_.push_back(std::move(entry));
}

/// So many of them. It is answered when nothing of them is left.
void Entering::take_out(Protocol& protocol, std::size_t count, Result<std::vector<Entry>> result) {
    after_ = std::move(result);
    to_take_out_ = count;
    if (count == 0) return taken_out();
    for (std::size_t i = 0; i < count; ++i) remove_key(protocol, i);
}

/// Exactly this incarnation: a copy of the request that comes late must not end the next one of
/// this client in the same slot.
void Entering::remove_key(Protocol& protocol, std::size_t index) {
    const auto known = protocol.lines.forget(contenders_[index].nonce);
    const std::int64_t made = known ? static_cast<std::int64_t>(known->fence) : made_by_;
    messages::TxnRequest request;
    *request.add_compare() = made_by(keys_[index], made);
    *request.add_success() = delete_key(keys_[index]);
    protocol.submit(std::move(request),
                    [self = shared_from_this()](Protocol&, const Answer& answer) {
                        if (!answer.result.ok()) self->not_taken_out_ = answer.result.failure();
                        if (--self->to_take_out_ == 0) self->taken_out();
                    },
                    {.deadline = deadline_});
}

void Entering::taken_out() {
    if (not_taken_out_) return fail_unknown(*not_taken_out_);
    // When a copy of its request may still arrive, whoever asked takes it out once more.
    if (!after_->ok()) return fail(after_->failure());
    finish_gone();
}

void Entering::finish(Protocol& protocol) {
    // It may have ended before the contenders were known to be in it.
    if (!protocol.leases.find_by_id(lease_.id)) {
        protocol.leases.over(lease_.id);
        return finish_gone();
    }
    complete(std::move(entries_));
}

void Entering::finish_gone() {
    repeated_ ? bar(0) : complete(gone());
}

/// A copy of the request may still arrive, and find room: a guard is put before each of them.
void Entering::bar(std::size_t index) {
    const auto protocol = protocol_.lock();
    if (!protocol || index == contenders_.size()) return complete(gone());
    protocol->leave({contenders_[index].resource, contenders_[index].nonce, {}})
        .then([self = shared_from_this(), index](const Result<Standing>& result) {
            if (!result.ok()) return self->fail(result.failure());
            self->bar(index + 1);
        });
}

std::vector<Entry> Entering::gone() const {
    const Contender& last = contenders_.back();
    return {{.ticket = {last.resource, last.nonce, {}}, .standing = {}}};
}

void Entering::fail(Failure failure) {
    if (repeated_) failure.effect = Effect::unknown;
    complete(std::move(failure));
}

void Entering::fail_unknown(Failure failure) {
    failure.effect = Effect::unknown;
    fail(std::move(failure));
}

void Protocol::enter(std::span<const Contender> contenders, std::shared_ptr<EntryFlight> flight) {
    std::make_shared<Entering>(shared_from_this(), contenders, std::move(flight))->start();
}

}  // namespace holdfast::inline v0::etcd
