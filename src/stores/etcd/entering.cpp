#include "stores/etcd/entering.hpp"

#include <algorithm>
#include <utility>

#include "port/sentences.hpp"
#include "stores/etcd/leaving.hpp"
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
Entering::Entering(const std::shared_ptr<Common>& common, std::span<const Contender> contenders,
                   std::shared_ptr<Flight> flight)
    : common_(common),
      contenders_(contenders.begin(), contenders.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                               contenders.size(), most_together))),
      flight_(std::move(flight)),
      deadline_(BootClock::now() + common->cluster().request_timeout) {}

void Entering::start() {
    const auto common = common_.lock();
    for (const Contender& one : contenders_) slots_.push_back(common->slots.take(one.nonce));
    if (!waits_alone()) return get_lease(*common);
    common->turnstile.enter(contenders_[0].resource, [self = shared_from_this()] {
        if (const auto alive = self->common_.lock()) self->get_lease(*alive);
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
    if (const auto common = common_.lock()) {
        if (waits_alone()) common->turnstile.is_through(contenders_[0].resource);
        for (std::size_t i = used_slots(result); i < contenders_.size(); ++i) {
            common->slots.give_back(contenders_[i].nonce);
        }
    }
    flight_->complete(std::move(result));
}

void Entering::get_lease(Common& common) {
    common.want_lease(contenders_.front().lease, line_start(contenders_.front().resource),
                      [self = shared_from_this()](const Result<Lease>& lease) {
                          if (!lease.ok()) return self->fail(lease.failure());
                          self->lease_ = lease.value();
                          self->name_keys();
                          const auto alive = self->common_.lock();
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

void Entering::send(Common& common, Plan plan) {
    common.submit(transaction(plan),
                  [self = shared_from_this(), plan](Common& alive, Answer answer) {
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

void Entering::answered(Common& common, Plan plan, Answer answer) {
    repeated_ = repeated_ || answer.repeated;
    if (answer.refusal == Refusal::lease_not_found) {
        common.lease_over(lease_.id);
        if (has_time()) return get_lease(common);
    }
    if (!answer.result.ok()) return fail(answer.result.failure());
    sent_ = answer.sent;
    const auto& response = answer.result.value();
    if (response.succeeded()) return came_in(common, plan, response);
    waits_alone() ? ask_why(common) : seen(common, response);
}

void Entering::ask_why(Common& common) {
    messages::TxnRequest request;
    see_all(*request.mutable_success());
    common.submit(std::move(request),
                  [self = shared_from_this()](Common& alive, const Answer& answer) {
                      // It may be there, by an earlier copy of its request.
                      if (!answer.result.ok()) return self->fail_unknown(answer.result.failure());
                      self->seen(alive, answer.result.value());
                  },
                  {.deadline = deadline_});
}

void Entering::came_in(Common& common, Plan plan, const messages::TxnResponse& response) {
    made_by_ = response.header().revision();
    const std::size_t admitted = plan.last_waits ? plan.count - 1 : plan.count;
    for (std::size_t i = 0; i < admitted; ++i) add(common, member(i, made_by_), State::admitted);
    if (!plan.last_waits) return finish(common);
    last_came_in(common, plan, response);
}

void Entering::last_came_in(Common& common, Plan plan, const messages::TxnResponse& response) {
    const std::size_t last = plan.count - 1;
    const std::string start = line_start(contenders_[last].resource);
    const auto& pairs = response.responses(0).response_range().kvs();
    auto line = seats_in(pairs, start);
    // The one before it may be of another line, whose name begins like this one's, or be about to
    // leave because it disagrees with those before it.
    const bool hidden = line.size() < static_cast<std::size_t>(pairs.size());
    const bool disagrees = !line.empty() && line.back().capacity != contenders_[last].capacity;
    if (is_exclusive(last) && (hidden || disagrees)) return list_last_line(common, plan);
    line.push_back(seat(last));
    judge_last(common, plan, line);
}

void Entering::list_last_line(Common& common, Plan plan) {
    messages::TxnRequest request;
    const std::string start = line_start(contenders_[plan.count - 1].resource);
    *request.add_success() = list(start, made_by_);
    common.submit(std::move(request),
                  [self = shared_from_this(), plan, start](Common& alive, const Answer& answer) {
                      if (!answer.result.ok()) return self->fail_unknown(answer.result.failure());
                      const auto& pairs = answer.result.value().responses(0).response_range().kvs();
                      self->judge_last(alive, plan, seats_in(pairs, start));
                  },
                  {.deadline = deadline_});
}

void Entering::judge_last(Common& common, Plan plan, const std::vector<Seat>& line) {
    const std::size_t last = plan.count - 1;
    Member own = member(last, made_by_);
    const auto judgement = judge(line, own.node);
    switch (judgement.verdict) {
        case Verdict::admitted:
            add(common, std::move(own), State::admitted);
            return finish(common);
        case Verdict::waits:
            return last_waits(common, last, judgement);
        case Verdict::conflict:
            return last_disagrees(common, plan, judgement);
        case Verdict::absent:
            // Somebody has removed it, or its lease has ended, between the two.
            return take_out(common, plan.count, std::vector<Entry>{});
    }
}

void Entering::last_waits(Common& common, std::size_t last, const Judgement& judgement) {
    Member own = member(last, made_by_);
    own.watched = Common::watched_by(own.node, judgement);
    own.listed_at = made_by_;
    add(common, std::move(own), State::waiting);
    finish(common);
}

/// Taken out while those are there that it disagrees with, and only then. Else it may be the first
/// by now, by which others are judged: then it stays.
void Entering::last_disagrees(Common& common, Plan plan, const Judgement& judgement) {
    const std::size_t last = plan.count - 1;
    messages::TxnRequest request;
    *request.add_compare() = made_by(keys_[last], made_by_);
    *request.add_compare() = made_by(judgement.barred_by.node, judgement.barred_by.order);
    *request.add_success() = remove(keys_[last]);
    *request.add_failure() = list(line_start(contenders_[last].resource), made_by_);
    common.submit(
        std::move(request),
        [self = shared_from_this(), plan, judgement](Common& alive, const Answer& answer) {
            self->last_taken_out(alive, plan, judgement, answer);
        },
        {.deadline = deadline_});
}

void Entering::last_taken_out(Common& common, Plan plan, const Judgement& judgement,
                              const Answer& answer) {
    const std::size_t last = plan.count - 1;
    const Failure refused = in_conflict(last, judgement.capacity_ahead);
    if (!answer.result.ok()) return take_out(common, plan.count, refused);
    const auto& response = answer.result.value();
    if (response.succeeded()) return take_out(common, last, refused);
    sent_ = answer.sent;
    const std::string start = line_start(contenders_[last].resource);
    const auto line = seats_in(response.responses(0).response_range().kvs(), start);
    const bool there = std::ranges::find(line, keys_[last], &Seat::node) != line.end();
    // Else an earlier copy of the request has done it.
    there ? judge_last(common, plan, line) : take_out(common, last, refused);
}

/// Nothing was written. The answer tells who is there instead.
void Entering::seen(Common& common, const messages::TxnResponse& response) {
    seen_at_ = response.header().revision();
    if (is_guarded(response)) return fail(withdrawn());
    const Lines lines = lines_in(response);
    if (change_slots(common, lines)) return look(common, lines);
    const bool there =
        std::ranges::find(lines.front(), keys_[0], &Seat::node) != lines.front().end();
    if (there) return found(common, lines);
    look(common, lines);
}

/// Where a key of this client is there that it does not know of any more. Whether it was so.
bool Entering::change_slots(Common& common, const Lines& lines) {
    bool changed = false;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
        const auto own = std::ranges::find(lines[i], keys_[i], &Seat::node);
        if (own == lines[i].end() || own->nonce == contenders_[i].nonce) continue;
        common.slots.retire(contenders_[i].nonce);
        slots_[i] = common.slots.take(contenders_[i].nonce);
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

Entering::Lines Entering::lines_in(const messages::TxnResponse& response) const {
    Lines lines;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
        const auto& listed = response.responses(static_cast<int>(2 * i + 1)).response_range();
        lines.push_back(seats_in(listed.kvs(), line_start(contenders_[i].resource)));
    }
    return lines;
}

/// An earlier copy of the request has done it, or it was entered before.
void Entering::found(Common& common, const Lines& lines) {
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
        const auto own = std::ranges::find(lines[i], keys_[i], &Seat::node);
        if (own == lines[i].end()) break;
        const auto judgement = judge(lines[i], own->node);
        Member known = member(i, own->order);
        if (judgement.verdict == Verdict::admitted) {
            add(common, std::move(known), State::admitted);
            continue;
        }
        if (judgement.verdict == Verdict::conflict) {
            made_by_ = own->order;
            return last_disagrees(common, {i + 1, true}, judgement);
        }
        if (known.contender.patience == Patience::none) {
            made_by_ = own->order;
            return take_out(common, i + 1, std::vector<Entry>{});
        }
        known.watched = Common::watched_by(known.node, judgement);
        known.listed_at = seen_at_;
        add(common, std::move(known), State::waiting);
        break;
    }
    finish(common);
}

/// Where they would stand, each at the end of its line.
void Entering::look(Common& common, const Lines& lines) {
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
        const Contender& one = contenders_[i];
        std::vector<Seat> joined = lines[i];
        joined.push_back(seat(i));
        const auto judgement = judge(joined, keys_[i]);
        if (judgement.verdict == Verdict::conflict) {
            return fail(in_conflict(i, judgement.capacity_ahead));
        }
        if (judgement.verdict == Verdict::admitted) continue;
        if (one.patience == Patience::none) return finish_gone();
        return send(common, {i + 1, true});
    }
    if (!has_time()) {
        return fail({errc::unreachable, Effect::none,
                     common.cluster().shown() +
                         ": others came in between, again and again; try once more"});
    }
    send(common, {contenders_.size(), false});
}

Seat Entering::seat(std::size_t index) const {
    const Contender& one = contenders_[index];
    return {.node = keys_[index], .weight = one.weight, .capacity = one.capacity};
}

Member Entering::member(std::size_t index, std::int64_t made_by) const {
    const Contender& one = contenders_[index];
    return {.contender = one,
            .path = line_start(one.resource),
            .node = keys_[index],
            .session = lease_.id,
            .fence = static_cast<std::uint64_t>(made_by),
            .lease_end = sent_ + one.lease,
            .doubted = repeated_};
}

void Entering::add(Common& common, Member member, State state) {
    member.admitted = state == State::admitted;
    Entry entry{.ticket = member.ticket(), .standing = {.state = state}};
    if (member.admitted) entry.standing.fence = member.fence;
    entry.standing.counted_from = lease_.counted_from(sent_, member.contender.lease);
    common.roster.add(std::move(member));
    entries_.push_back(std::move(entry));
}

/// So many of them. It is answered when nothing of them is left.
void Entering::take_out(Common& common, std::size_t count, Result<std::vector<Entry>> result) {
    after_ = std::move(result);
    to_take_out_ = count;
    if (count == 0) return taken_out();
    for (std::size_t i = 0; i < count; ++i) remove_key(common, i);
}

/// Exactly this incarnation: a copy of the request that comes late must not end the next one of
/// this client in the same slot.
void Entering::remove_key(Common& common, std::size_t index) {
    const auto known = common.forget(contenders_[index].nonce);
    const std::int64_t made = known ? static_cast<std::int64_t>(known->fence) : made_by_;
    messages::TxnRequest request;
    *request.add_compare() = made_by(keys_[index], made);
    *request.add_success() = remove(keys_[index]);
    common.submit(std::move(request),
                  [self = shared_from_this()](Common&, const Answer& answer) {
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

void Entering::finish(Common& common) {
    // It may have ended before the contenders were known to be in it.
    if (!common.leases.find_by_id(lease_.id)) {
        common.lease_over(lease_.id);
        return finish_gone();
    }
    complete(std::move(entries_));
}

void Entering::finish_gone() {
    repeated_ ? bar(0) : complete(gone());
}

/// A copy of the request may still arrive, and find room: a guard is put before each of them.
void Entering::bar(std::size_t index) {
    const auto common = common_.lock();
    if (!common || index == contenders_.size()) return complete(gone());
    leave_line(common, {contenders_[index].resource, contenders_[index].nonce, {}})
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

}  // namespace holdfast::inline v0::etcd
