#include "stores/etcd/renewing.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "stores/etcd/transactions.hpp"
#include "stores/listed/note.hpp"

namespace holdfast::inline v0::etcd {

namespace {

using Answer = EtcdWire::AnswerTo<messages::TxnRequest>;
using State = Standing::State;

/// Keeps the leases alive and looks at the contenders, at the same time. A leader that was cut off
/// keeps leases alive for a while that its successor counts down; that the looks were answered
/// proves that it still was the leader.
class Renewing : public std::enable_shared_from_this<Renewing> {
public:
    using RenewFlight = Flight<std::vector<Standing>>;

    Renewing(std::shared_ptr<RenewFlight> flight, std::size_t tickets,
             std::chrono::milliseconds lease)
        : flight_(std::move(flight)), lease_(lease), standings_(tickets) {}

    void ask_about(std::size_t ticket, Member member) {
        asked_.push_back({.ticket = ticket, .member = std::move(member)});
    }

    void start(Common& common) {
        const auto known = common.leases.find(ttl_for(lease_));
        const auto bound = [&](const Asked& one) {
            return known && one.member.session == known->id;
        };
        if (std::ranges::all_of(asked_, bound)) return ask(common);
        common.want_lease(lease_, [self = shared_from_this(),
                                   weak = common.weak_from_this()](const Result<Lease>& lease) {
            if (!lease.ok()) return self->flight_->complete(lease.failure());
            if (const auto alive = weak.lock()) self->bind_all(*alive, lease.value().id);
        });
    }

private:
    /// What is asked about one of the tickets, and where the answer is.
    struct Asked {
        std::size_t ticket = 0;
        Member member;
        std::size_t request = 0;
        int operation = 0;
    };

    /// A look at the key of each that holds, and one list for all that wait in one line.
    std::size_t plan_looks() {
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
        answers_.resize(looks_.size());
        return looks_.size();
    }

    /// They are asked to last for another time than before: each is bound to the lease for that.
    void bind_all(Common& common, std::int64_t lease) {
        awaited_ = 1;
        for (Asked& one : asked_) {
            if (one.member.session != lease) bind(common, one, lease);
        }
        one_bound(common);
    }

    void bind(Common& common, Asked& one, std::int64_t lease) {
        const Member& member = one.member;
        messages::TxnRequest request;
        *request.add_compare() = made_by(member.node, static_cast<std::int64_t>(member.fence));
        *request.add_success() = put(member.node, listed::note_of(member.contender), lease);
        ++awaited_;
        common.submit(std::move(request), [self = shared_from_this(), &one, lease](
                                              Common& alive, const Answer& answer) {
            if (!answer.result.ok()) {
                self->failure_ = answer.result.failure();
            } else if (answer.result.value().succeeded()) {
                one.member.session = lease;
                alive.roster.moved(one.member.nonce(), lease);
            }
            self->one_bound(alive);
        });
    }

    void one_bound(Common& common) {
        if (--awaited_ > 0) return;
        if (failure_) return flight_->complete(*failure_);
        ask(common);
    }

    void ask(Common& common) {
        std::set<std::int64_t> leases;
        for (const Asked& one : asked_) leases.insert(one.member.session);
        const std::size_t requests = plan_looks();
        awaited_ = leases.size() + requests;
        for (const std::int64_t lease : leases) keep_alive(common, lease);
        for (std::size_t i = 0; i < requests; ++i) look(common, i);
    }

    void keep_alive(Common& common, std::int64_t lease) {
        common.keep_alive(lease, [self = shared_from_this()](
                                     Common& alive, const Result<std::optional<Moment>>& kept) {
            if (!kept.ok()) self->failure_ = kept.failure();
            self->one_answered(alive);
        });
    }

    void look(Common& common, std::size_t request) {
        common.submit(looks_[request],
                      [self = shared_from_this(), request](Common& alive, Answer answer) {
                          if (answer.result.ok()) {
                              self->answers_[request] = std::move(answer.result).value();
                          } else {
                              self->failure_ = answer.result.failure();
                          }
                          self->one_answered(alive);
                      });
    }

    void one_answered(Common& common) {
        if (--awaited_ > 0) return;
        if (failure_) return flight_->complete(*failure_);
        for (const Asked& one : asked_) standings_[one.ticket] = standing_of(common, one);
        flight_->complete(std::move(standings_));
    }

    Standing standing_of(Common& common, const Asked& one) {
        const auto lease = common.leases.find_by_id(one.member.session);
        const auto present = common.roster.find(one.member.nonce());
        if (!lease || !present) return {};
        Standing standing = judged(common, one);
        if (standing.state == State::gone) return standing;
        // As much as is left of the lease that the servers know of.
        standing.counted_from = lease->counted_from(BootClock::now(), lease_);
        common.roster.renewed(one.member.nonce(), lease->heard_at + lease_);
        return standing;
    }

    Standing judged(Common& common, const Asked& one) {
        const auto& answer = answers_[one.request];
        const auto& pairs = answer.responses(one.operation).response_range().kvs();
        if (!one.member.admitted) {
            auto line = seats_in(pairs, one.member.path);
            return common.stands(one.member, line, answer.header().revision());
        }
        const auto fence = static_cast<std::int64_t>(one.member.fence);
        if (!pairs.empty() && pairs[0].create_revision() == fence) {
            return {.state = State::admitted, .fence = one.member.fence};
        }
        common.forget(one.member.nonce());
        return {};
    }

    const std::shared_ptr<RenewFlight> flight_;
    const std::chrono::milliseconds lease_;
    std::vector<Standing> standings_;
    std::vector<Asked> asked_;
    std::vector<messages::TxnRequest> looks_;
    std::vector<messages::TxnResponse> answers_;
    std::size_t awaited_ = 0;
    std::optional<Failure> failure_;
};

}  // namespace

Pending<std::vector<Standing>> renew_all(const std::shared_ptr<Common>& common,
                                         std::span<const Ticket> tickets,
                                         std::chrono::milliseconds lease) {
    const auto flight = std::make_shared<Renewing::RenewFlight>(common->wire);
    const auto renewing = std::make_shared<Renewing>(flight, tickets.size(), lease);
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
