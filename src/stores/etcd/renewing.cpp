#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "stores/etcd/protocol.hpp"
#include "stores/etcd/transactions.hpp"
#include "stores/listed/awaited.hpp"
#include "stores/listed/note.hpp"
#include "stores/listed/renewal.hpp"

namespace holdfast::inline v0::etcd {

namespace {

using Answer = EtcdWire::AnswerTo<messages::TxnRequest>;
using listed::Look;
using listed::Renewed;
using State = Standing::State;

/// Keeps the leases alive and looks at the contenders, at the same time, which proves that they
/// were kept: see LeaseProof. What was asked for before a later renewal of the same contender
/// changes nothing.
///
///     all bound to the lease of this duration? ──▶ keep alive and look ──▶ standings
///        │                                          ▲       │
///        └──▶ keep that one alive ──▶ bind ─────────┘       └─▶ again: a key is bound elsewhere
class Renewing : public std::enable_shared_from_this<Renewing> {
public:
    using RenewFlight = Flight<std::vector<Standing>>;

    Renewing(std::shared_ptr<RenewFlight> flight, std::size_t tickets, Extension extension,
             std::chrono::milliseconds request_timeout)
        : flight_(std::move(flight)),
          extension_(extension),
          begun_(BootClock::now()),
          deadline_(begun_ + request_timeout),
          standings_(tickets) {}

    void start(Protocol& protocol, std::vector<Renewed> renewed) {
        asked_ = std::move(renewed);
        begin(protocol);
    }

private:
    void begin(Protocol& protocol) {
        const auto known = protocol.leases.find(extension_.lease);
        const auto is_bound = [&](const Renewed& one) {
            if (!one.is_latest) return true;
            return known && one.entrant.session == known->id && !one.entrant.unsettled;
        };
        if (std::ranges::all_of(asked_, is_bound)) return ask(protocol);
        get_lease(protocol);
    }

    /// The lease that they are to be bound to may be shorter than the present one. Its end must be
    /// a whole lease away from the beginning of this renewal: so much is trusted, answered or not.
    void get_lease(Protocol& protocol) {
        protocol.leases.want_kept(extension_.lease, asked_.front().entrant.node,
                                  [self = shared_from_this(),
                                   weak = protocol.weak_from_this()](const Result<Lease>& lease) {
                                      const auto alive = weak.lock();
                                      if (!lease.ok())
                                          return self->flight_->complete(lease.failure());
                                      if (!alive) return;
                                      // Others had asked for it before.
                                      if (lease.value().heard_at < self->begun_)
                                          return self->get_lease(*alive);
                                      self->bind_all(*alive, lease.value().id);
                                  });
    }

    /// As many as a server takes in one transaction, in each but the last.
    std::vector<messages::TxnRequest> plan_looks() {
        std::vector<messages::TxnRequest> looks;
        for (const Look& look : looks_for(asked_)) {
            if (looks.empty() || looks.back().success_size() >= most_operations) {
                looks.emplace_back();
            }
            *looks.back().add_success() =
                look.at == Look::At::node ? read(look.path) : list(look.path);
        }
        return looks;
    }

    /// What is answered to the look at it, and to all else in the same transaction.
    const messages::TxnResponse& answer_to(const Renewed& one) const {
        return answers_[one.look / most_operations];
    }
    const Pairs& pairs_of(const Renewed& one) const {
        const auto operation = static_cast<int>(one.look % most_operations);
        return answer_to(one).responses(operation).response_range().kvs();
    }

    /// They are asked to last for another time than before: each is bound to the lease for that.
    void bind_all(Protocol& protocol, std::int64_t lease) {
        std::vector<Renewed*> unbound;
        for (Renewed& one : asked_) {
            const bool bound = one.entrant.session == lease && !one.entrant.unsettled;
            if (one.is_latest && !bound) unbound.push_back(&one);
        }
        if (unbound.empty()) return ask(protocol);
        awaited_.expect(unbound.size());
        for (Renewed* const one : unbound) {
            protocol.lines.entrants.unsettle(one->entrant.nonce());
            bind(protocol, *one, lease);
        }
    }

    /// Only over what is known to have been written last: a copy of this that comes late finds that
    /// it was written since. So each is written, be it bound to that lease already, when an earlier
    /// one was not answered.
    void bind(Protocol& protocol, Renewed& one, std::int64_t lease) {
        const Entrant& entrant = one.entrant;
        messages::TxnRequest request;
        *request.add_compare() = made_by(entrant.node, static_cast<std::int64_t>(entrant.fence));
        *request.add_compare() = written_by(entrant.node, entrant.last_written());
        *request.add_success() = put(entrant.node, listed::note_of(entrant.contender), lease);
        *request.add_failure() = read(entrant.node);
        protocol.submit(
            std::move(request),
            [self = shared_from_this(), &one, lease](Protocol& alive, const Answer& answer) {
                self->bound(alive, one, lease, answer);
            },
            deadline_);
    }

    void bound(Protocol& protocol, Renewed& one, std::int64_t lease, const Answer& answer) {
        if (answer.result.ok() && answer.result.value().succeeded()) {
            settle(protocol, one, lease, answer.result.value().header().revision());
        } else if (answer.result.ok() && was_rewritten(answer.result.value(), one.entrant) &&
                   is_latest(protocol, one)) {
            const auto& pair = answer.result.value().responses(0).response_range().kvs(0);
            one.entrant.written_at = pair.mod_revision();
            return bind(protocol, one, lease);
        }
        const bool last = awaited_.is_last([&] {
            if (!answer.result.ok()) failure_ = answer.result.failure();
        });
        if (!last) return;
        failure_ ? flight_->complete(*failure_) : ask(protocol);
    }

    /// By an earlier copy of a request to bind it, or by what tells that it is admitted.
    static bool was_rewritten(const messages::TxnResponse& response, const Entrant& entrant) {
        const auto& pairs = response.responses(0).response_range().kvs();
        return !pairs.empty() &&
               pairs[0].create_revision() == static_cast<std::int64_t>(entrant.fence) &&
               pairs[0].mod_revision() != entrant.last_written();
    }

    bool is_latest(Protocol& protocol, const Renewed& one) const {
        const auto present = protocol.lines.entrants.find(one.entrant.nonce());
        return present && present->serial <= extension_.serial;
    }

    static void settle(Protocol& protocol, Renewed& one, std::int64_t lease,
                       std::int64_t written_at) {
        one.entrant.session = lease;
        one.entrant.written_at = written_at;
        one.entrant.unsettled = false;
        protocol.lines.entrants.moved(one.entrant.nonce(), lease, written_at);
    }

    void ask(Protocol& protocol) {
        std::set<std::int64_t> leases;
        for (const Renewed& one : asked_) leases.insert(one.entrant.session);
        protocol.leases.keep({leases.begin(), leases.end()}, plan_looks(), deadline_,
                             [self = shared_from_this(), weak = protocol.weak_from_this()](
                                 Result<std::vector<messages::TxnResponse>> kept) {
                                 if (!kept.ok()) return self->flight_->complete(kept.failure());
                                 self->answers_ = std::move(kept).value();
                                 if (const auto alive = weak.lock()) self->answered(*alive);
                             });
    }

    void answered(Protocol& protocol) {
        if (is_bound_elsewhere(protocol)) return again(protocol);
        for (const Renewed& one : asked_) standings_[one.ticket] = standing_of(protocol, one);
        flight_->complete(std::move(standings_));
    }

    void again(Protocol& protocol) {
        if (BootClock::now() >= deadline_) return flight_->complete(unproved(protocol.cluster()));
        for (Renewed& one : asked_) refresh(protocol, one);
        begin(protocol);
    }

    /// What became known of it meanwhile, also by other renewals.
    void refresh(Protocol& protocol, Renewed& one) const {
        if (auto present = protocol.lines.entrants.find(one.entrant.nonce())) {
            one.entrant = *std::move(present);
            one.is_latest = one.entrant.serial <= extension_.serial;
        }
    }

    /// By a request of ours that was not answered, say. What is known of it is put right.
    bool is_bound_elsewhere(Protocol& protocol) {
        bool elsewhere = false;
        for (const Renewed& one : asked_) {
            const auto* const pair = seen(one);
            if (pair == nullptr || pair->lease() == one.entrant.session) continue;
            protocol.lines.entrants.found_bound(one.entrant.nonce(), pair->lease(),
                                                pair->mod_revision());
            elsewhere = true;
        }
        return elsewhere;
    }

    /// Its key, in the answer to the look at it; none when it is gone.
    const messages::KeyValue* seen(const Renewed& one) const {
        for (const messages::KeyValue& pair : pairs_of(one)) {
            const auto made = static_cast<std::uint64_t>(pair.create_revision());
            if (pair.key() == one.entrant.node && made == one.entrant.fence) return &pair;
        }
        return nullptr;
    }

    Standing standing_of(Protocol& protocol, const Renewed& one) {
        const auto lease = protocol.leases.find_by_id(one.entrant.session);
        const auto present = protocol.lines.entrants.find(one.entrant.nonce());
        if (!lease || !present) return {};
        // As much as is left of the lease that the servers know of, which may be longer than what
        // was asked for: so it ends when it is trusted no more, and not earlier.
        const Moment counted_from = lease->counted_from(BootClock::now(), extension_.lease);
        const listed::Extent extent{.counted_from = counted_from,
                                    .lease_end = counted_from + extension_.lease};
        return renewed_as(protocol.lines, one, judged(protocol, one), extension_, extent);
    }

    Standing judged(Protocol& protocol, const Renewed& one) {
        if (!one.entrant.admitted) {
            const auto line = line_in(pairs_of(one), one.entrant.path);
            return protocol.lines.stands(one.entrant, line, answer_to(one).header().revision());
        }
        if (seen(one) != nullptr) return {.state = State::admitted, .fence = one.entrant.fence};
        protocol.lines.was_lost(one.entrant);
        return {};
    }

    const std::shared_ptr<RenewFlight> flight_;
    const Extension extension_;
    const Moment begun_;
    const Moment deadline_;
    std::vector<Standing> standings_;
    std::vector<Renewed> asked_;
    std::vector<messages::TxnResponse> answers_;
    listed::Awaited awaited_;  ///< to the requests that bind
    std::optional<Failure> failure_;
};

}  // namespace

Pending<std::vector<Standing>> Protocol::renew(std::span<const Ticket> tickets,
                                               Extension extension) {
    auto renewed = listed::begin_renewal(lines, tickets, extension);
    if (renewed.empty()) return std::vector<Standing>(tickets.size());
    const auto flight = std::make_shared<Renewing::RenewFlight>(wire_);
    std::make_shared<Renewing>(flight, tickets.size(), extension, cluster().request_timeout)
        ->start(*this, std::move(renewed));
    return Pending<std::vector<Standing>>(flight);
}

}  // namespace holdfast::inline v0::etcd
