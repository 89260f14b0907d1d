#include "stores/etcd/leases.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "stores/etcd/proof.hpp"
#include "stores/etcd/protocol.hpp"

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

/// Keeps a lease alive and proves it by a read, again until both are of one term.
class Keeping : public std::enable_shared_from_this<Keeping> {
public:
    /// Told whether it is there still.
    using Done = Callback<void(Protocol&, Result<bool>)>;

    Keeping(std::int64_t lease, std::string key, Moment deadline, Done done)
        : lease_(lease), key_(std::move(key)), deadline_(deadline), done_(std::move(done)) {}

    void ask(Protocol& protocol) {
        proof_ = {};
        awaited_ = 2;
        protocol.leases.keep_alive(
            lease_,
            [self = shared_from_this()](Protocol& alive, const Result<std::optional<Kept>>& kept) {
                self->was_kept(kept);
                self->one_answered(alive);
            });
        messages::RangeRequest request;
        request.set_key(key_);
        request.set_keys_only(true);
        protocol.submit(std::move(request),
                        [self = shared_from_this()](Protocol& alive, const Read& answer) {
                            self->was_read(answer);
                            self->one_answered(alive);
                        },
                        {.deadline = deadline_});
    }

private:
    using Kept = KeepAlives::Kept;
    using Read = EtcdWire::AnswerTo<messages::RangeRequest>;

    void was_kept(const Result<std::optional<Kept>>& kept) {
        if (!kept.ok()) {
            failure_ = kept.failure();
        } else if (!kept.value()) {
            over_ = true;
        } else {
            proof_.add(kept.value()->sent, kept.value()->term);
        }
    }

    void was_read(const Read& answer) {
        if (!answer.result.ok()) {
            failure_ = answer.result.failure();
        } else {
            proof_.add(answer.sent, answer.result.value().header().raft_term());
        }
    }

    void one_answered(Protocol& protocol) {
        if (--awaited_ > 0) return;
        if (over_) return done_(protocol, false);
        if (failure_) return done_(protocol, *failure_);
        if (const auto since = proof_.since()) {
            protocol.leases.proved(lease_, *since);
            return done_(protocol, true);
        }
        if (BootClock::now() < deadline_) return ask(protocol);
        done_(protocol, unproved(protocol.cluster()));
    }

    const std::int64_t lease_;
    const std::string key_;
    const Moment deadline_;
    const Done done_;
    Proof proof_;
    int awaited_ = 0;
    bool over_ = false;
    std::optional<Failure> failure_;
};

}  // namespace

void Leases::want(std::chrono::milliseconds lease, const std::string& key, Wanted wanted) {
    const auto known = find(lease);
    if (known && known->is_fresh(BootClock::now())) return wanted(*known);
    want_kept(lease, key, std::move(wanted));
}

void Leases::want_kept(std::chrono::milliseconds lease, const std::string& key, Wanted wanted) {
    const auto ttl = ttl_for(lease);
    if (book_.wait_for(ttl, std::move(wanted))) get(ttl, key);
}

void Leases::want_for_guard(Wanted wanted) {
    const auto known = book_.find(guard_lease);
    if (known && BootClock::now() - known->heard_at < guard_time / 2) return wanted(*known);
    if (book_.wait_for(guard_lease, std::move(wanted))) grant(guard_lease);
}

void Leases::get(std::chrono::seconds ttl, const std::string& key) {
    const auto known = book_.find(ttl);
    if (!known) return grant(ttl);
    if (BootClock::now() >= known->end()) {
        // The servers may still have it, and an enter with it may be on its way.
        revoke(known->id);
        over(known->id);
        return grant(ttl);
    }
    const Moment deadline = BootClock::now() + protocol_.cluster().request_timeout;
    const auto kept_or_not = [this, ttl](Protocol&, const Result<bool>& kept) {
        if (!kept.ok()) return book_.failed(ttl, kept.failure());
        const auto present = book_.find(ttl);
        if (!kept.value() || !present) return grant(ttl);
        book_.got(ttl, *present);
    };
    std::make_shared<Keeping>(known->id, key, deadline, kept_or_not)->ask(protocol_);
}

void Leases::grant(std::chrono::seconds ttl) {
    messages::LeaseGrantRequest request;
    request.set_ttl(ttl == guard_lease ? guard_time.count() : ttl.count());
    protocol_.submit(std::move(request), [this, ttl](Protocol&, const auto& answer) {
        if (!answer.result.ok()) {
            // What it leaves behind is a lease without keys, which ends by itself.
            Failure failure = answer.result.failure();
            failure.effect = Effect::none;
            return book_.failed(ttl, failure);
        }
        const auto& granted = answer.result.value();
        book_.got(ttl, {.id = granted.id(),
                        .ttl = std::chrono::seconds{granted.ttl()},
                        .heard_at = answer.sent});
    });
}

void Leases::keep_alive(std::int64_t id, Kept kept) {
    protocol_.wire().keep_alive(id,
                                [this, weak = protocol_.weak_from_this(), id,
                                 kept = std::move(kept)](const Result<KeepAlives::Kept>& result) {
                                    const auto alive = weak.lock();
                                    if (!alive) return;
                                    if (!result.ok()) return kept(*alive, result.failure());
                                    if (result.value().ttl == 0s) {
                                        over(id);
                                        return kept(*alive, std::optional<KeepAlives::Kept>{});
                                    }
                                    kept(*alive, std::optional(result.value()));
                                });
}

void Leases::over(std::int64_t id) {
    book_.forget(id);
    protocol_.lines.session_over(id);
}

void Leases::revoke(std::int64_t id) {
    messages::LeaseRevokeRequest request;
    request.set_id(id);
    protocol_.wire().submit(std::move(request), [](const auto&) {});
}

Moment Leases::end_of_interest(std::int64_t id) const {
    const Moment now = BootClock::now();
    const Moment latest = now + protocol_.cluster().request_timeout;
    const auto known = find_by_id(id);
    // One answer may be on its way.
    return known ? std::min(latest, std::max(known->end(), now + shortest_interest)) : latest;
}

void Leases::give_back() noexcept try {
    EtcdWire& wire = protocol_.wire();
    const Moment until = BootClock::now() + goodbye_time;
    const auto flight = std::make_shared<Flight<bool>>(wire);
    Pending<bool> answered(flight, until);
    const auto left = std::make_shared<std::size_t>(0);
    for (const Lease& lease : book_.all()) {
        ++*left;
        messages::LeaseRevokeRequest request;
        request.set_id(lease.id);
        wire.submit(std::move(request),
                    [flight, left](const auto&) {
                        if (--*left == 0) flight->complete(true);
                    },
                    {.deadline = until});
    }
    if (*left > 0 && !inside_callback()) static_cast<void>(std::move(answered).get());
} catch (const std::exception&) {
    // They end by themselves.
}

}  // namespace holdfast::inline v0::etcd
