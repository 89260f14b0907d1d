#include "stores/etcd/renewing.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "stores/etcd/keeping.hpp"
#include "stores/etcd/transactions.hpp"
#include "stores/listed/note.hpp"

namespace holdfast::inline v0::etcd {

namespace {

using Answer = EtcdWire::AnswerTo<messages::TxnRequest>;
using State = Standing::State;

/// Keeps the leases alive and looks at the contenders, at the same time, which proves that they
/// were kept: see Proof. What was asked for before a later renewal of the same contender changes
/// nothing.
///
///     all bound to the lease of this duration? ──▶ keep alive and look ──▶ standings
///        │                                          ▲       │
///        └──▶ keep that one alive ──▶ bind ─────────┘       └─▶ again: another leader answered,
///                                                               or a key is bound elsewhere
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

    void ask_about(std::size_t ticket, Member member) {
        asked_.push_back({.ticket = ticket, .member = std::move(member)});
    }

    void start(Common& common) {
        for (Asked& one : asked_) {
            one.is_latest = common.roster.begin_renewal(one.member.nonce(), extension_.serial);
        }
        begin(common);
    }

private:
    /// What is asked about one of the tickets, and where the answer is.
    struct Asked {
        std::size_t ticket = 0;
        Member member;
        bool is_latest = true;  ///< this renewal is, of all of this contender
        std::size_t request = 0;
        int operation = 0;
    };

    void begin(Common& common) {
        const auto known = common.leases.find(ttl_for(extension_.lease));
        const auto is_bound = [&](const Asked& one) {
            if (!one.is_latest) return true;
            return known && one.member.session == known->id && !one.member.unsettled;
        };
        if (std::ranges::all_of(asked_, is_bound)) return ask(common);
        get_lease(common);
    }

    /// The lease that they are to be bound to may be shorter than the present one. Its end must be
    /// a whole lease away from the beginning of this renewal: so much is trusted, answered or not.
    void get_lease(Common& common) {
        common.want_kept_lease(extension_.lease, asked_.front().member.node,
                               [self = shared_from_this(),
                                weak = common.weak_from_this()](const Result<Lease>& lease) {
                                   const auto alive = weak.lock();
                                   if (!lease.ok()) return self->flight_->complete(lease.failure());
                                   if (!alive) return;
                                   // Others had asked for it before.
                                   if (lease.value().heard_at < self->begun_)
                                       return self->get_lease(*alive);
                                   self->bind_all(*alive, lease.value().id);
                               });
    }

    /// A look at the key of each that holds, and one list for all that wait in one line.
    std::size_t plan_looks() {
        looks_.clear();
        std::map<std::string, std::pair<std::size_t, int>> lists;
        for (Asked& one : asked_) {
            const auto known = lists.find(one.member.path);
            if (!one.member.admitted && known != lists.end()) {
                std::tie(one.request, one.operation) = known->second;
                continue;
            }
            if (looks_.empty() || looks_.back().success_size() >= most_operations) {
                looks_.emplace_back();
            }
            one.request = looks_.size() - 1;
            one.operation = looks_.back().success_size();
            *looks_.back().add_success() =
                one.member.admitted ? read(one.member.node) : list(one.member.path);
            if (!one.member.admitted) {
                lists.emplace(one.member.path, std::pair(one.request, one.operation));
            }
        }
        answers_.assign(looks_.size(), {});
        return looks_.size();
    }

    /// They are asked to last for another time than before: each is bound to the lease for that.
    void bind_all(Common& common, std::int64_t lease) {
        awaited_ = 1;
        for (Asked& one : asked_) {
            if (one.is_latest && (one.member.session != lease || one.member.unsettled)) {
                common.roster.unsettle(one.member.nonce());
                ++awaited_;
                bind(common, one, lease);
            }
        }
        one_bound(common);
    }

    /// Only over what is known to have been written last: a copy of this that comes late finds that
    /// it was written since. So each is written, be it bound to that lease already, when an earlier
    /// one was not answered.
    void bind(Common& common, Asked& one, std::int64_t lease) {
        const Member& member = one.member;
        messages::TxnRequest request;
        *request.add_compare() = made_by(member.node, static_cast<std::int64_t>(member.fence));
        *request.add_compare() = written_by(member.node, member.last_written());
        *request.add_success() = put(member.node, listed::note_of(member.contender), lease);
        *request.add_failure() = read(member.node);
        common.submit(
            std::move(request),
            [self = shared_from_this(), &one, lease](Common& alive, const Answer& answer) {
                self->bound(alive, one, lease, answer);
            },
            {.deadline = deadline_});
    }

    void bound(Common& common, Asked& one, std::int64_t lease, const Answer& answer) {
        if (!answer.result.ok()) {
            failure_ = answer.result.failure();
        } else if (answer.result.value().succeeded()) {
            settle(common, one, lease, answer.result.value().header().revision());
        } else if (was_rewritten(answer.result.value(), one.member) && is_latest(common, one)) {
            const auto& pair = answer.result.value().responses(0).response_range().kvs(0);
            one.member.written_at = pair.mod_revision();
            return bind(common, one, lease);
        }
        one_bound(common);
    }

    /// By an earlier copy of a request to bind it, or by what tells that it is admitted.
    static bool was_rewritten(const messages::TxnResponse& response, const Member& member) {
        const auto& pairs = response.responses(0).response_range().kvs();
        return !pairs.empty() &&
               pairs[0].create_revision() == static_cast<std::int64_t>(member.fence) &&
               pairs[0].mod_revision() != member.last_written();
    }

    bool is_latest(Common& common, const Asked& one) const {
        const auto present = common.roster.find(one.member.nonce());
        return present && present->serial <= extension_.serial;
    }

    static void settle(Common& common, Asked& one, std::int64_t lease, std::int64_t written_at) {
        one.member.session = lease;
        one.member.written_at = written_at;
        one.member.unsettled = false;
        common.roster.moved(one.member.nonce(), lease, written_at);
    }

    void one_bound(Common& common) {
        if (--awaited_ > 0) return;
        if (failure_) return flight_->complete(*failure_);
        ask(common);
    }

    void ask(Common& common) {
        kept_.clear();
        proof_ = {};
        std::set<std::int64_t> leases;
        for (const Asked& one : asked_) leases.insert(one.member.session);
        const std::size_t requests = plan_looks();
        awaited_ = leases.size() + requests;
        for (const std::int64_t lease : leases) keep_alive(common, lease);
        for (std::size_t i = 0; i < requests; ++i) look(common, i);
    }

    void keep_alive(Common& common, std::int64_t lease) {
        common.keep_alive(lease,
                          [self = shared_from_this(), lease](
                              Common& alive, const Result<std::optional<KeepAlives::Kept>>& kept) {
                              if (!kept.ok()) {
                                  self->failure_ = kept.failure();
                              } else if (kept.value()) {
                                  self->proof_.add(kept.value()->sent, kept.value()->term);
                                  self->kept_.push_back(lease);
                              }
                              self->one_answered(alive);
                          });
    }

    void look(Common& common, std::size_t request) {
        common.submit(looks_[request],
                      [self = shared_from_this(), request](Common& alive, Answer answer) {
                          if (answer.result.ok()) {
                              self->answers_[request] = std::move(answer.result).value();
                              const auto& header = self->answers_[request].header();
                              self->proof_.add(answer.sent, header.raft_term());
                          } else {
                              self->failure_ = answer.result.failure();
                          }
                          self->one_answered(alive);
                      },
                      {.deadline = deadline_});
    }

    void one_answered(Common& common) {
        if (--awaited_ > 0) return;
        if (failure_) return flight_->complete(*failure_);
        const auto since = proof_.since();
        if (!since || is_bound_elsewhere(common)) return again(common);
        for (const std::int64_t lease : kept_) common.leases.heard(lease, *since);
        for (const Asked& one : asked_) standings_[one.ticket] = standing_of(common, one);
        flight_->complete(std::move(standings_));
    }

    void again(Common& common) {
        if (BootClock::now() >= deadline_) return flight_->complete(unproved(common.cluster()));
        for (Asked& one : asked_) refresh(common, one);
        begin(common);
    }

    /// What became known of it meanwhile, also by other renewals.
    void refresh(Common& common, Asked& one) const {
        if (auto present = common.roster.find(one.member.nonce())) {
            one.member = *std::move(present);
            one.is_latest = one.member.serial <= extension_.serial;
        }
    }

    /// By a request of ours that was not answered, say. What is known of it is put right.
    bool is_bound_elsewhere(Common& common) {
        bool elsewhere = false;
        for (const Asked& one : asked_) {
            const auto* const pair = seen(one);
            if (pair == nullptr || pair->lease() == one.member.session) continue;
            common.roster.found_bound(one.member.nonce(), pair->lease(), pair->mod_revision());
            elsewhere = true;
        }
        return elsewhere;
    }

    /// Its key, in the answer to the look at it; none when it is gone.
    const messages::KeyValue* seen(const Asked& one) const {
        const auto& looked = answers_[one.request].responses(one.operation).response_range();
        for (const messages::KeyValue& pair : looked.kvs()) {
            const auto made = static_cast<std::uint64_t>(pair.create_revision());
            if (pair.key() == one.member.node && made == one.member.fence) return &pair;
        }
        return nullptr;
    }

    Standing standing_of(Common& common, const Asked& one) {
        const auto lease = common.leases.find_by_id(one.member.session);
        const auto present = common.roster.find(one.member.nonce());
        if (!lease || !present) return {};
        Standing standing = judged(common, one);
        if (standing.state == State::gone) return standing;
        // As much as is left of the lease that the servers know of.
        standing.counted_from = lease->counted_from(BootClock::now(), extension_.lease);
        // Its lease may have ended before this was known: then its key is about to go.
        const bool there =
            is_latest(common, one)
                ? common.roster.renewed(one.member.nonce(), lease->heard_at + extension_.lease)
                : common.roster.find(one.member.nonce()).has_value();
        return there ? standing : Standing{};
    }

    Standing judged(Common& common, const Asked& one) {
        const auto& answer = answers_[one.request];
        if (!one.member.admitted) {
            const auto& pairs = answer.responses(one.operation).response_range().kvs();
            const auto line = seats_in(pairs, one.member.path);
            return common.stands(one.member, line, answer.header().revision());
        }
        if (seen(one) != nullptr) return {.state = State::admitted, .fence = one.member.fence};
        common.forget(one.member.nonce());
        return {};
    }

    const std::shared_ptr<RenewFlight> flight_;
    const Extension extension_;
    const Moment begun_;
    const Moment deadline_;
    std::vector<Standing> standings_;
    std::vector<Asked> asked_;
    std::vector<messages::TxnRequest> looks_;
    std::vector<messages::TxnResponse> answers_;
    std::vector<std::int64_t> kept_;  ///< leases
    Proof proof_;
    std::size_t awaited_ = 0;
    std::optional<Failure> failure_;
};

}  // namespace

Pending<std::vector<Standing>> renew_all(const std::shared_ptr<Common>& common,
                                         std::span<const Ticket> tickets, Extension extension) {
    const auto flight = std::make_shared<Renewing::RenewFlight>(common->wire);
    const auto renewing = std::make_shared<Renewing>(flight, tickets.size(), extension,
                                                     common->cluster().request_timeout);
    bool known = false;
    for (std::size_t i = 0; i < tickets.size(); ++i) {
        // What this client does not know of any more is gone.
        auto member = common->roster.find(tickets[i].nonce);
        known = known || member;
        if (member) renewing->ask_about(i, *std::move(member));
    }
    if (!known) return std::vector<Standing>(tickets.size());
    renewing->start(*common);
    return Pending<std::vector<Standing>>(flight);
}

}  // namespace holdfast::inline v0::etcd
