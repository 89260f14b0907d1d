#include "stores/etcd/common.hpp"

#include <algorithm>

#include "stores/etcd/keeping.hpp"
#include "stores/etcd/leaving.hpp"
#include "stores/etcd/transactions.hpp"
#include "stores/listed/note.hpp"

namespace holdfast::inline v0::etcd {

namespace {

using namespace std::chrono_literals;
using State = Standing::State;
using Verdict = Judgement::Verdict;

/// A guard stays for at least half of it.
constexpr std::chrono::seconds guard_time = 240s;
/// What it is known by: nobody asks for a lease without a length.
constexpr std::chrono::seconds guard_lease = 0s;

/// In what has ended, or is about to.
constexpr auto shortest_interest = 500ms;

/// How long a client that is closed waits for its leases to be given back.
constexpr auto goodbye_time = 100ms;

}  // namespace

void Common::tidy() {
    for (const Member& member : roster.take_lapsed(BootClock::now())) {
        unwatch(member);
        remove_key({member.session, static_cast<std::int64_t>(member.fence), member.node},
                   member.nonce());
        watchers->call(member.nonce(), {.state = State::gone});
    }
}

void Common::remove_key(const PlaceText& place, const Nonce& nonce) {
    messages::TxnRequest request;
    *request.add_compare() = made_by(place.node, place.made_by);
    *request.add_success() = remove(place.node);
    submit(std::move(request), [place, nonce](Common& alive, const auto& answer) {
        if (answer.result.ok()) return alive.slots.give_back(nonce);
        const bool unserved = answer.refusal == Refusal::unserved;
        if (unserved && alive.leases.find_by_id(place.session)) alive.remove_key(place, nonce);
    });
}

void Common::want_lease(std::chrono::milliseconds lease, const std::string& key,
                        Leases::Wanted wanted) {
    const auto known = leases.find(ttl_for(lease));
    if (known && known->is_fresh(BootClock::now())) return wanted(*known);
    want_kept_lease(lease, key, std::move(wanted));
}

void Common::want_kept_lease(std::chrono::milliseconds lease, const std::string& key,
                             Leases::Wanted wanted) {
    const auto ttl = ttl_for(lease);
    if (leases.wait_for(ttl, std::move(wanted))) get_lease(ttl, key);
}

void Common::get_lease(std::chrono::seconds ttl, const std::string& key) {
    const auto known = leases.find(ttl);
    if (!known) return grant_lease(ttl);
    if (BootClock::now() >= known->end()) {
        // The servers may still have it, and an enter with it may be on its way.
        revoke_lease(known->id);
        lease_over(known->id);
        return grant_lease(ttl);
    }
    keep_lease(*this, known->id, key, [ttl](Common& alive, const Result<bool>& kept) {
        if (!kept.ok()) return alive.leases.failed(ttl, kept.failure());
        const auto present = alive.leases.find(ttl);
        if (!kept.value() || !present) return alive.grant_lease(ttl);
        alive.leases.got(ttl, *present);
    });
}

void Common::grant_lease(std::chrono::seconds ttl) {
    messages::LeaseGrantRequest request;
    request.set_ttl(ttl == guard_lease ? guard_time.count() : ttl.count());
    submit(std::move(request), [ttl](Common& alive, const auto& answer) {
        if (!answer.result.ok()) {
            // What it leaves behind is a lease without keys, which ends by itself.
            Failure failure = answer.result.failure();
            failure.effect = Effect::none;
            return alive.leases.failed(ttl, failure);
        }
        const auto& granted = answer.result.value();
        alive.leases.got(ttl, {.id = granted.id(),
                               .ttl = std::chrono::seconds{granted.ttl()},
                               .heard_at = answer.sent});
    });
}

void Common::want_guard_lease(Leases::Wanted wanted) {
    const auto known = leases.find(guard_lease);
    if (known && BootClock::now() - known->heard_at < guard_time / 2) return wanted(*known);
    if (leases.wait_for(guard_lease, std::move(wanted))) grant_lease(guard_lease);
}

void Common::keep_alive(std::int64_t lease, Kept kept) {
    wire.keep_alive(lease, [weak = weak_from_this(), lease,
                            kept = std::move(kept)](const Result<KeepAlives::Kept>& result) {
        const auto self = weak.lock();
        if (!self) return;
        if (!result.ok()) return kept(*self, result.failure());
        if (result.value().ttl == 0s) {
            self->lease_over(lease);
            return kept(*self, std::optional<KeepAlives::Kept>{});
        }
        kept(*self, std::optional(result.value()));
    });
}

void Common::revoke_lease(std::int64_t lease) {
    messages::LeaseRevokeRequest request;
    request.set_id(lease);
    wire.submit(std::move(request), [](const auto&) {});
}

Moment Common::end_of_interest(std::int64_t lease) const {
    const Moment now = BootClock::now();
    const Moment latest = now + cluster().request_timeout;
    const auto known = leases.find_by_id(lease);
    // One answer may be on its way.
    return known ? std::min(latest, std::max(known->end(), now + shortest_interest)) : latest;
}

void Common::say_goodbye() noexcept try {
    const Moment until = BootClock::now() + goodbye_time;
    const auto flight = std::make_shared<Flight<bool>>(wire);
    Pending<bool> answered(flight, until);
    const auto left = std::make_shared<std::size_t>(0);
    for (const Lease& lease : leases.all()) {
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

void Common::lease_over(std::int64_t lease) {
    leases.forget(lease);
    for (const Member& member : roster.take_of_session(lease)) {
        unwatch(member);
        slots.give_back(member.nonce());
        watchers->call(member.nonce(), {.state = State::gone});
    }
}

Standing Common::stands(const Member& member, const std::vector<Seat>& line,
                        std::int64_t revision) {
    const auto judgement = judge(line, member.node);
    switch (judgement.verdict) {
        case Verdict::admitted:
            return admitted(member);
        case Verdict::conflict:
            leave_behind(member, judgement.barred_by);
            [[fallthrough]];
        case Verdict::waits:
            roster.wait_for(member.nonce(), watched_by(member.node, judgement), false, revision);
            unwatch(member);
            arm(member.nonce());
            return {.state = State::waiting};
        case Verdict::absent:
            break;
    }
    forget(member.nonce());
    return {};
}

/// It was told to wait, and disagrees with whoever is the first by now. While that one is there it
/// leaves, and is told so; when it comes again, it is refused. Else it waits, and looks again.
void Common::leave_behind(const Member& member, const Seat& other) {
    messages::TxnRequest request;
    *request.add_compare() = made_by(member.node, static_cast<std::int64_t>(member.fence));
    *request.add_compare() = made_by(other.node, other.order);
    *request.add_success() = remove(member.node);
    submit(std::move(request), [member](Common& alive, const auto& answer) {
        if (!answer.result.ok() || !answer.result.value().succeeded()) return;
        const auto left = alive.roster.remove(member);
        if (!left) return;
        alive.unwatch(*left);
        if (left->doubted) {
            // A copy of its enter that still comes is to find a guard.
            const Ticket unanswered{member.contender.resource, member.nonce(), {}};
            leave_line(alive.shared_from_this(), unanswered).then([](const Result<Standing>&) {});
        } else {
            alive.slots.give_back(member.nonce());
        }
        alive.watchers->call(member.nonce(), {.state = State::gone});
    });
}

std::vector<std::string> Common::watched_by(const std::string& key, const Judgement& judgement) {
    auto keys = judgement.watched;
    keys.push_back(key);
    return keys;
}

/// Whoever waits behind it with permits looks at it alone, and is told by its being written again.
Standing Common::admitted(const Member& member) {
    if (!roster.admit(member)) return {};
    unwatch(member);
    const Standing standing{.state = State::admitted, .fence = member.fence};
    if (member.admitted || member.contender.capacity == all) return standing;
    messages::TxnRequest request;
    // Not over what was written since: it may be bound to another lease by then.
    *request.add_compare() = written_by(member.node, member.last_written());
    *request.add_success() = put(member.node, listed::note_of(member.contender), member.session);
    submit(std::move(request), [nonce = member.nonce()](Common& alive, const auto& answer) {
        if (!answer.result.ok() || !answer.result.value().succeeded()) return;
        alive.roster.written(nonce, answer.result.value().header().revision());
    });
    return standing;
}

std::optional<Member> Common::forget(const Nonce& nonce) {
    auto member = roster.remove(nonce);
    if (member) unwatch(*member);
    return member;
}

/// What nobody else waits for.
void Common::unwatch(const Member& member) {
    for (const std::string& key : member.watched) {
        if (!roster.is_awaited(key)) wire.unwatch(key);
    }
}

void Common::arm(const Nonce& nonce) {
    if (!watchers->watches(nonce)) return;
    const auto member = roster.find(nonce);
    if (!member) return;
    const auto events =
        member->contender.capacity == all ? Watches::Events::end : Watches::Events::end_or_write;
    for (const std::string& key : member->watched) wire.watch(key, events, member->listed_at);
}

void Common::stirred(const std::string& key, Watches::What what) {
    for (const Nonce& nonce : roster.stir(key, what == Watches::What::ended)) {
        if (!watchers->watches(nonce)) continue;
        if (roster.take_stir(nonce)) watchers->call(nonce, {.state = State::waiting});
    }
}

void Common::look_again(const std::string& key, std::int64_t since) {
    messages::RangeRequest request;
    request.set_key(key);
    request.set_keys_only(true);
    submit(std::move(request), [key, since](Common& alive, const auto& answer) {
        if (answer.result.ok()) {
            const auto& pairs = answer.result.value().kvs();
            if (!pairs.empty() && pairs[0].mod_revision() <= since) return;
        }
        alive.wire.unwatch(key);
        const bool ended = answer.result.ok() && answer.result.value().kvs().empty();
        alive.stirred(key, ended ? Watches::What::ended : Watches::What::written);
    });
}

}  // namespace holdfast::inline v0::etcd
