#include "stores/etcd/leases.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "port/pending.hpp"
#include "port/told_time.hpp"
#include "stores/etcd/transactions.hpp"
#include "stores/listed/awaited.hpp"

namespace holdfast::inline v0::etcd {

namespace {

using namespace std::chrono_literals;

/// A guard stays for at least half of it.
constexpr std::chrono::seconds guard_time = 240s;
/// What it is known by: nobody asks for a lease without a length.
constexpr std::chrono::seconds guard_lease = 0s;

/// In what has ended, or is about to.
constexpr auto shortest_interest = 500ms;

/// How long a client that is closed waits for its leases to be given back.
constexpr auto goodbye_time = 100ms;

messages::LeaseRevokeRequest revocation_of(std::int64_t id) {
    messages::LeaseRevokeRequest request;
    request.set_id(id);
    return request;
}

}  // namespace

/// See Leases::keep().
class Leases::Keeping : public std::enable_shared_from_this<Keeping> {
public:
    Keeping(Leases& leases, std::vector<std::int64_t> ids, std::vector<messages::TxnRequest> looks,
            Moment deadline, Kept kept)
        : leases_(leases),
          ids_(std::move(ids)),
          looks_(std::move(looks)),
          deadline_(deadline),
          kept_(std::move(kept)) {}

    void ask() {
        proof_ = {};
        proved_.clear();
        answers_.assign(looks_.size(), {});
        awaited_.expect(ids_.size() + looks_.size());
        for (const std::int64_t id : ids_) keep_alive(id);
        for (std::size_t i = 0; i < looks_.size(); ++i) look(i);
    }

private:
    void keep_alive(std::int64_t id) {
        leases_.wire_.keep_alive(id, leases_.while_owned([self = shared_from_this(), id](
                                                             const Result<KeepAlives::Kept>& kept) {
            const bool over = kept.ok() && kept.value().ttl == 0s;
            if (over) self->leases_.over(id);
            const bool last = self->awaited_.is_last([&] {
                if (!kept.ok()) {
                    self->failure_ = kept.failure();
                } else if (!over) {
                    self->proof_.add(kept.value().sent, kept.value().term);
                    self->proved_.push_back(id);
                }
            });
            if (last) self->all_answered();
        }));
    }

    void look(std::size_t index) {
        using Answer = EtcdWire::AnswerTo<messages::TxnRequest>;
        leases_.wire_.submit(messages::TxnRequest(looks_[index]),
                             leases_.while_owned([self = shared_from_this(), index](Answer answer) {
                                 const bool last = self->awaited_.is_last([&] {
                                     if (!answer.result.ok()) {
                                         self->failure_ = answer.result.failure();
                                         return;
                                     }
                                     self->answers_[index] = std::move(answer.result).value();
                                     self->proof_.add(answer.sent,
                                                      self->answers_[index].header().raft_term());
                                 });
                                 if (last) self->all_answered();
                             }),
                             deadline_);
    }

    void all_answered() {
        if (failure_) return kept_(*failure_);
        const auto since = proof_.since();
        if (!since && BootClock::now() < deadline_) return ask();
        if (!since) return kept_(unproved(leases_.wire_.cluster()));
        for (const std::int64_t id : proved_) leases_.book_.heard(id, *since);
        kept_(std::move(answers_));
    }

    Leases& leases_;
    const std::vector<std::int64_t> ids_;
    const std::vector<messages::TxnRequest> looks_;
    const Moment deadline_;
    const Kept kept_;
    listed::Awaited awaited_;
    LeaseProof proof_;
    std::vector<std::int64_t> proved_;  ///< if all is of one term
    std::vector<messages::TxnResponse> answers_;
    std::optional<Failure> failure_;
};

void Leases::keep(std::vector<std::int64_t> ids, std::vector<messages::TxnRequest> looks,
                  Moment deadline, Kept kept) {
    std::make_shared<Keeping>(*this, std::move(ids), std::move(looks), deadline, std::move(kept))
        ->ask();
}

void Leases::want(std::chrono::milliseconds lease, const std::string& key, Wanted wanted) {
    const auto known = find(lease);
    if (known && known->is_fresh(BootClock::now())) return wanted(*known);
    want_kept(lease, key, std::move(wanted));
}

/// Gets a lease for all who wait for it. Should something throw meanwhile, they are told that it
/// failed: else nobody would get it any more.
class Leases::Getting {
public:
    Getting(Leases& leases, std::chrono::seconds length)
        : ttl(length), leases_(leases), owner_(leases.owner_) {}
    ~Getting() {
        const auto owner = owner_.lock();
        if (!begun_ || !owner) return;
        try {
            leases_.book_.failed(ttl, {errc::unreachable, Effect::none,
                                       leases_.wire_.cluster().shown() +
                                           ": this process could not ask for a lease; it may be "
                                           "out of memory"});
        } catch (...) {
            // All of them were told.
        }
    }

    /// Whether nobody gets it yet.
    [[nodiscard]] bool begins(Wanted wanted) {
        return begun_ = leases_.book_.wait_for(ttl, std::move(wanted));
    }
    void got(const Lease& lease) {
        leases_.book_.got(ttl, lease);
        begun_ = false;
    }
    void failed(const Failure& failure) {
        leases_.book_.failed(ttl, failure);
        begun_ = false;
    }

    const std::chrono::seconds ttl;

private:
    Leases& leases_;
    const std::weak_ptr<Owner> owner_;
    bool begun_ = false;
};

void Leases::want_kept(std::chrono::milliseconds lease, const std::string& key, Wanted wanted) {
    const auto getting = std::make_shared<Getting>(*this, ttl_for(lease));
    if (getting->begins(std::move(wanted))) get(getting, key);
}

void Leases::want_for_guard(Wanted wanted) {
    const auto known = book_.find(guard_lease);
    if (known && BootClock::now() - known->heard_at < guard_time / 2) return wanted(*known);
    const auto getting = std::make_shared<Getting>(*this, guard_lease);
    if (getting->begins(std::move(wanted))) grant(getting);
}

void Leases::get(const std::shared_ptr<Getting>& getting, const std::string& key) {
    const auto known = book_.find(getting->ttl);
    if (!known) return grant(getting);
    if (BootClock::now() >= known->end()) {
        // The servers may still have it, and an enter with it may be on its way.
        wire_.submit(revocation_of(known->id), [](const auto&) {});
        over(known->id);
        return grant(getting);
    }
    messages::TxnRequest look;
    *look.add_success() = read_key(key);
    keep({known->id}, {look}, BootClock::now() + wire_.cluster().request_timeout,
         [this, getting](const Result<std::vector<messages::TxnResponse>>& kept) {
             if (!kept.ok()) return getting->failed(kept.failure());
             const auto present = book_.find(getting->ttl);
             present ? getting->got(*present) : grant(getting);
         });
}

void Leases::grant(const std::shared_ptr<Getting>& getting) {
    using Answer = EtcdWire::AnswerTo<messages::LeaseGrantRequest>;
    const bool for_guard = getting->ttl == guard_lease;
    messages::LeaseGrantRequest request;
    request.set_ttl(for_guard ? guard_time.count() : getting->ttl.count());
    wire_.submit(std::move(request), while_owned([getting](const Answer& answer) {
                     if (!answer.result.ok()) {
                         // What it leaves behind is a lease without keys, which ends by itself.
                         Failure failure = answer.result.failure();
                         failure.effect = Effect::none;
                         return getting->failed(failure);
                     }
                     const auto& granted = answer.result.value();
                     getting->got({.id = granted.id(),
                                   .ttl = told_as<std::chrono::seconds>(granted.ttl()),
                                   .heard_at = answer.sent});
                 }));
}

void Leases::over(std::int64_t id) {
    book_.forget(id);
    if (const auto owner = owner_.lock()) owner->lease_over(id);
}

Moment Leases::end_of_interest(std::int64_t id) const {
    const Moment now = BootClock::now();
    const Moment latest = now + wire_.cluster().request_timeout;
    const auto known = find_by_id(id);
    // One answer may be on its way.
    return known ? std::min(latest, std::max(known->end(), now + shortest_interest)) : latest;
}

void Leases::give_back() noexcept try {
    const Moment until = BootClock::now() + goodbye_time;
    const auto flight = std::make_shared<Flight<bool>>(wire_);
    Pending<bool> answered(flight, until);
    const std::vector<Lease> leases = book_.all();
    const auto awaited = std::make_shared<listed::Awaited>();
    awaited->expect(leases.size());
    for (const Lease& lease : leases) {
        wire_.submit(
            revocation_of(lease.id),
            [flight, awaited](const auto&) {
                if (awaited->is_last([] {})) flight->complete(true);
            },
            until);
    }
    if (!leases.empty() && !inside_callback()) static_cast<void>(std::move(answered).get());
} catch (const std::exception&) {
    // They end by themselves.
}

}  // namespace holdfast::inline v0::etcd
