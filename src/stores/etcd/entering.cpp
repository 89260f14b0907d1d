#include "stores/listed/entering.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "port/sentences.hpp"
#include "stores/etcd/protocol.hpp"
#include "stores/etcd/transactions.hpp"
#include "stores/listed/awaited.hpp"
#include "stores/listed/first_exception.hpp"
#include "stores/listed/note.hpp"

namespace holdfast::inline v0::etcd {

namespace {

using Answer = EtcdWire::AnswerTo<messages::TxnRequest>;
using Neighbours = std::vector<Neighbour>;
using Operations = google::protobuf::RepeatedPtrField<messages::RequestOp>;
using Verdict = Judgement::Verdict;

/// Three comparisons for each of them.
constexpr std::size_t most_together = most_operations / 3;

/// Of too many the first ones come in, and whoever asked goes on with the others.
std::span<const Contender> first_of(std::span<const Contender> contenders) {
    return contenders.first(std::min(contenders.size(), most_together));
}

/// Its weight leaves no room for anybody: who is next before it is all that matters.
bool is_exclusive(const Contender& contender) {
    return contender.weight == contender.capacity;
}

/// Contenders come in all in one transaction.
///
///     a lease ──▶ one that waits: list its line, put ───────────────▶ judged
///            └──▶ others: put all, if nobody came to their lines since they were seen
///                  │      (at first: if nobody is there) ───────────▶ admitted
///                  └─▶ seen ──▶ they fit now: put all, if ...
///                        └────▶ one does not: gone, or list its line, and put up to that one
///
/// A transaction may be repeated: who is there already is found, and so is the guard of whoever was
/// taken out before.
class EnteringByKeys final : public listed::Entering<Protocol>,
                             public std::enable_shared_from_this<EnteringByKeys> {
public:
    EnteringByKeys(const std::shared_ptr<Protocol>& protocol, std::span<const Contender> contenders,
                   std::shared_ptr<Flight> flight)
        : Entering(protocol, first_of(contenders), std::move(flight),
                   BootClock::now() + protocol->cluster().request_timeout) {}

    void start(Protocol& protocol) {
        for (const Contender& one : contenders_) slots_.push_back(protocol.slots.take(one.nonce));
        if (!waits_alone()) return get_lease(protocol);
        protocol.single_file.enter(contenders_[0].resource,
                                   [self = shared_from_this()](SingleFile::Before before) {
                                       const auto alive = self->protocol_.lock();
                                       return alive && self->go(*alive, before);
                                   });
    }
    ~EnteringByKeys() override {
        if (is_answered()) return;
        try {
            // Something has thrown. Those behind it are not to wait for ever.
            pass_on(SingleFile::Before::was_not_served);
        } catch (...) {
            // The next one passes on in the same way.
        }
    }

private:
    /// What the present transaction puts: so many, the last of which may have to wait.
    struct Plan {
        std::size_t count = 0;
        bool last_waits = false;
        std::size_t last() const { return count - 1; }
    };

    /// It is one, and stands in line if it must.
    bool waits_alone() const {
        return contenders_.size() == 1 && contenders_[0].patience == Patience::wait;
    }

    /// It is its turn: the time of a request begins. But not where nobody answers, or all that
    /// wait would be told so one after the other. Whether anybody waits for it still.
    bool go(Protocol& protocol, SingleFile::Before before) {
        is_first_in_file_ = true;
        if (!is_wanted()) return drop();
        if (before == SingleFile::Before::was_served) {
            deadline_ = BootClock::now() + protocol.cluster().request_timeout;
        }
        get_lease(protocol);
        return true;
    }

    /// Nothing of it was sent. It would cost those behind it two requests.
    bool drop() {
        Failure unwanted{errc::unreachable, Effect::none, "nobody waits for it any more"};
        // Whoever has let it in goes on to the next one.
        is_first_in_file_ = false;
        try {
            complete(std::move(unwanted));
        } catch (const std::exception&) {
            // Out of memory. It is told with the end of this, and must not keep that one from its
            // turn.
        }
        return false;
    }

    void get_lease(Protocol& protocol) {
        protocol.leases.want(
            contenders_.front().lease, line_start(contenders_.front().resource),
            [self = shared_from_this()](const Result<Lease>& lease) {
                if (!lease.ok()) return self->fail(lease.failure());
                self->lease_ = lease.value();
                self->name_keys();
                const auto alive = self->protocol_.lock();
                if (alive) self->send(*alive, {self->contenders_.size(), self->waits_alone()});
            });
    }

    void name_keys() {
        keys_.clear();
        for (std::size_t i = 0; i < contenders_.size(); ++i) {
            keys_.push_back(key_of(contenders_[i].resource, lease_.id, slots_[i]));
        }
    }
    const Contender& last() const { return contenders_[plan_.last()]; }
    std::string last_start() const { return line_start(last().resource); }

    /// `read(protocol, answer)` is called with what is answered in time.
    template <class Read>
    void ask(Protocol& protocol, messages::TxnRequest request, Read read) {
        protocol.submit(
            std::move(request),
            [self = shared_from_this(), read](Protocol& alive, Answer answer) {
                (self.get()->*read)(alive, std::move(answer));
            },
            deadline_);
    }

    void send(Protocol& protocol, Plan plan) {
        plan_ = plan;
        ask(protocol, transaction(), &EnteringByKeys::answered);
    }

    messages::TxnRequest transaction() const {
        messages::TxnRequest request;
        if (plan_.last_waits) {
            // Before it comes in: of an empty line there is nothing to read, and to send.
            *request.add_success() =
                is_exclusive(last()) ? list_last(1, last_start()) : list(last_start());
        }
        for (std::size_t i = 0; i < plan_.count; ++i) {
            const Contender& one = contenders_[i];
            *request.add_compare() = absent(keys_[i]);
            *request.add_compare() = absent(guard_of(one.resource, one.nonce));
            const bool may_wait = plan_.last_waits && i == plan_.last();
            if (!may_wait) *request.add_compare() = none_since(line_start(one.resource), seen_at_);
            *request.add_success() = put(keys_[i], listed::note_of(one), lease_.id);
        }
        // That one which may wait cannot come in is so rare that it is asked about only then.
        if (!waits_alone()) see_all(*request.mutable_failure());
        return request;
    }

    /// Their guards and lines.
    void see_all(Operations& operations) const {
        for (const Contender& one : contenders_) {
            *operations.Add() = read(guard_of(one.resource, one.nonce));
            *operations.Add() = list(line_start(one.resource));
        }
    }

    void answered(Protocol& protocol, Answer answer) {
        repeated_ = repeated_ || answer.repeated;
        if (answer.refusal == CallRefusal::lease_not_found) {
            protocol.leases.over(lease_.id);
            if (has_time()) return get_lease(protocol);
        }
        if (!answer.result.ok()) return fail(answer.result.failure());
        sent_ = answer.sent;
        const auto& response = answer.result.value();
        if (response.succeeded()) return have_come_in(protocol, response);
        waits_alone() ? ask_why(protocol) : seen(protocol, response);
    }

    void ask_why(Protocol& protocol) {
        messages::TxnRequest request;
        see_all(*request.mutable_success());
        ask(protocol, std::move(request), &EnteringByKeys::told_why);
    }
    void told_why(Protocol& protocol, Answer answer) {
        // It may be there, by an earlier copy of its request.
        if (!answer.result.ok()) return fail_unknown(answer.result.failure());
        seen(protocol, answer.result.value());
    }

    void have_come_in(Protocol& protocol, const messages::TxnResponse& response) {
        made_by_ = response.header().revision();
        const std::size_t admitted = plan_.last_waits ? plan_.last() : plan_.count;
        for (std::size_t i = 0; i < admitted; ++i) add_admitted(protocol, i, made_by_);
        if (!plan_.last_waits) return finish(protocol);
        const auto& pairs = response.responses(0).response_range().kvs();
        Neighbours line = line_in(pairs, last_start());
        // The one before it may be of another line, whose name begins like this one's, or be about
        // to leave because it disagrees with those before it.
        const bool hidden = line.size() < static_cast<std::size_t>(pairs.size());
        const bool disagrees = !line.empty() && line.back().capacity != last().capacity;
        if (is_exclusive(last()) && (hidden || disagrees)) return list_whole_line(protocol);
        line.push_back(
            {.node = keys_[plan_.last()], .weight = last().weight, .capacity = last().capacity});
        judge_last(protocol, line);
    }

    /// Those behind it too, which may have to be told what it came to.
    void list_whole_line(Protocol& protocol) {
        messages::TxnRequest request;
        *request.add_success() = list(last_start());
        ask(protocol, std::move(request), &EnteringByKeys::listed_whole_line);
    }
    void listed_whole_line(Protocol& protocol, Answer answer) {
        if (!answer.result.ok()) return fail_unknown(answer.result.failure());
        judge_last(protocol, line_of_last(answer.result.value()));
    }
    Neighbours line_of_last(const messages::TxnResponse& response) const {
        return line_in(response.responses(0).response_range().kvs(), last_start());
    }

    void judge_last(Protocol& protocol, const Neighbours& line) {
        judged(protocol, entrant(plan_.last(), made_by_), line, made_by_);
    }

    void came_in(Protocol& protocol, Entrant entrant) override {
        add(protocol, std::move(entrant));
        finish(protocol);
    }
    void vanished(Protocol& protocol) override { take_out(protocol, plan_.count); }

    void take_out_behind(Protocol& protocol, const Entrant& own, const Neighbour& other) override {
        messages::TxnRequest request = deletion_of(own.incarnation());
        *request.add_compare() = made_by(other.node, other.order);
        *request.add_failure() = list(last_start());
        ask(protocol, std::move(request), &EnteringByKeys::taken_out_behind);
    }
    void taken_out_behind(Protocol& protocol, Answer answer) {
        if (!answer.result.ok()) return take_out(protocol, plan_.count);
        const auto& response = answer.result.value();
        if (response.succeeded()) return take_out(protocol, plan_.last());
        sent_ = answer.sent;
        const Neighbours line = line_of_last(response);
        const bool there =
            std::ranges::find(line, keys_[plan_.last()], &Neighbour::node) != line.end();
        // Else an earlier copy of the request has done it.
        there ? judge_last(protocol, line) : take_out(protocol, plan_.last());
    }

    /// Nothing was written. The answer tells who is there instead.
    void seen(Protocol& protocol, const messages::TxnResponse& response) {
        seen_at_ = response.header().revision();
        if (is_guarded(response)) return fail(withdrawn());
        const std::vector<Neighbours> lines = lines_in(response);
        const bool changed = change_slots(protocol, lines);
        const auto own = std::ranges::find(lines.front(), keys_[0], &Neighbour::node);
        changed || own == lines.front().end() ? look(protocol, lines) : found(protocol, lines);
    }

    /// Where a key of this client is there that it does not know of any more. Whether it was so.
    bool change_slots(Protocol& protocol, const std::vector<Neighbours>& lines) {
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

    bool is_guarded(const messages::TxnResponse& response) const {
        for (std::size_t i = 0; i < contenders_.size(); ++i) {
            const auto& guard = response.responses(static_cast<int>(2 * i)).response_range();
            if (!guard.kvs().empty()) return true;
        }
        return false;
    }

    std::vector<Neighbours> lines_in(const messages::TxnResponse& response) const {
        std::vector<Neighbours> lines;
        for (std::size_t i = 0; i < contenders_.size(); ++i) {
            const auto& listed = response.responses(static_cast<int>(2 * i + 1)).response_range();
            lines.push_back(line_in(listed.kvs(), line_start(contenders_[i].resource)));
        }
        return lines;
    }

    /// An earlier copy of the request has done it, or it was entered before.
    void found(Protocol& protocol, const std::vector<Neighbours>& lines) {
        for (std::size_t i = 0; i < contenders_.size(); ++i) {
            const auto own = std::ranges::find(lines[i], keys_[i], &Neighbour::node);
            if (own == lines[i].end()) break;
            if (listed::judge(lines[i], own->node).verdict != Verdict::admitted) {
                plan_ = {i + 1, true};
                made_by_ = own->order;
                return judged(protocol, entrant(i, made_by_), lines[i], seen_at_);
            }
            // Those behind it saw one that waits, or that was about to leave.
            Entrant admitted = entrant(i, own->order);
            protocol.lines.admitted_at_once(admitted, lines[i]);
            add(protocol, std::move(admitted));
        }
        finish(protocol);
    }

    /// Where they would stand, each at the end of its line.
    void look(Protocol& protocol, const std::vector<Neighbours>& lines) {
        for (std::size_t i = 0; i < contenders_.size(); ++i) {
            const auto judgement = listed::judge_newcomer(lines[i], contenders_[i]);
            if (judgement.verdict == Verdict::conflict) {
                return fail(in_conflict(contenders_[i], judgement));
            }
            if (judgement.verdict == Verdict::admitted) continue;
            if (contenders_[i].patience == Patience::none) return finish_gone();
            return send(protocol, {i + 1, true});
        }
        if (!has_time()) {
            return fail({errc::unreachable, Effect::none,
                         protocol.cluster().shown() +
                             ": others came in between, again and again; try once more"});
        }
        send(protocol, {contenders_.size(), false});
    }

    Entrant entrant(std::size_t index, std::int64_t made_by) const {
        const Contender& one = contenders_[index];
        return {.contender = one,
                .path = line_start(one.resource),
                .node = keys_[index],
                .session = lease_.id,
                .fence = static_cast<std::uint64_t>(made_by),
                .lease_end = sent_ + one.lease};
    }
    void add_admitted(Protocol& protocol, std::size_t index, std::int64_t made_by) {
        Entrant own = entrant(index, made_by);
        own.admitted = true;
        add(protocol, std::move(own));
    }
    void add(Protocol& protocol, Entrant own) {
        if (repeated_) protocol.doubts.add(own.nonce(), lease_.id);
        entries_.push_back(entry_of(own, lease_.counted_from(sent_, own.contender.lease)));
        protocol.lines.entrants.add(std::move(own));
    }

    /// So many of them. It is answered when nothing of them is left.
    void take_out(Protocol& protocol, std::size_t count) {
        if (count == 0) return finish_out();
        removals_.expect(count);
        for (std::size_t i = 0; i < count; ++i) remove_key(protocol, i);
    }

    void remove_key(Protocol& protocol, std::size_t index) {
        const auto known = protocol.lines.forget(contenders_[index].nonce);
        const std::int64_t made = known ? static_cast<std::int64_t>(known->fence) : made_by_;
        ask(protocol, deletion_of({.made_by = made, .node = keys_[index]}),
            &EnteringByKeys::one_removed);
    }
    void one_removed(Protocol&, Answer answer) {
        const bool last = removals_.is_last([&] {
            if (!answer.result.ok()) not_taken_out_ = answer.result.failure();
        });
        if (!last) return;
        // When a copy of its request may still arrive, whoever asked takes it out once more.
        not_taken_out_ ? fail_unknown(*not_taken_out_) : finish_out();
    }

    void finish(Protocol& protocol) {
        // It may have ended before the contenders were known to be in it.
        if (!protocol.leases.find_by_id(lease_.id)) {
            protocol.leases.over(lease_.id);
            return finish_gone();
        }
        complete(std::move(entries_));
    }

    void finish_gone() override { repeated_ ? bar(0) : complete(gone()); }

    /// A copy of the request may still arrive, and find room: a guard is put before each of them.
    void bar(std::size_t index) {
        const auto protocol = protocol_.lock();
        if (!protocol || index == contenders_.size()) return complete(gone());
        protocol->leave({contenders_[index].resource, contenders_[index].nonce, {}})
            .then([self = shared_from_this(), index](const Result<Standing>& result) {
                if (!result.ok()) return self->fail(result.failure());
                self->bar(index + 1);
            });
    }

    void complete(Outcome outcome) override {
        const bool unserved = !outcome.ok() && outcome.failure().code == errc::unreachable;
        if (const auto protocol = protocol_.lock()) {
            for (std::size_t i = used_slots(outcome); i < contenders_.size(); ++i) {
                protocol->slots.give_back(contenders_[i].nonce);
            }
        }
        // Whatever becomes of those behind it, whoever asked is told first.
        listed::FirstException first;
        first.of([&] { Entering::complete(std::move(outcome)); });
        first.of([&] {
            pass_on(unserved ? SingleFile::Before::was_not_served : SingleFile::Before::was_served);
        });
        first.rethrow();
    }

    void pass_on(SingleFile::Before before) const {
        const auto protocol = protocol_.lock();
        if (protocol && is_first_in_file_) {
            protocol->single_file.is_through(contenders_[0].resource, before);
        }
    }

    /// So many of the contenders have a key, or may have one.
    std::size_t used_slots(const Outcome& outcome) const {
        if (!outcome.ok()) return outcome.failure().effect == Effect::none ? 0 : contenders_.size();
        const auto& entries = outcome.value();
        return entries.back().standing.state == Standing::State::gone ? 0 : entries.size();
    }

    bool is_first_in_file_ = false;
    std::vector<std::uint64_t> slots_;  ///< one for each
    std::vector<std::string> keys_;     ///< with them, and the lease
    Lease lease_;
    Plan plan_;
    std::int64_t seen_at_ = 0;  ///< the revision of the lines that were seen
    std::int64_t made_by_ = 0;  ///< the revision in which they came in
    listed::Awaited removals_;
    std::optional<Failure> not_taken_out_;
    Entries entries_;
};

}  // namespace

void Protocol::enter(std::span<const Contender> contenders, std::shared_ptr<EntryFlight> flight) {
    std::make_shared<EnteringByKeys>(shared_from_this(), contenders, std::move(flight))
        ->start(*this);
}

}  // namespace holdfast::inline v0::etcd
