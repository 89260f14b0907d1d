#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "port/pending.hpp"
#include "port/watchers.hpp"
#include "stores/etcd/etcd_wire.hpp"
#include "stores/etcd/leases.hpp"
#include "stores/etcd/line_keys.hpp"
#include "stores/etcd/slots.hpp"
#include "stores/etcd/turnstile.hpp"
#include "stores/listed/judgement.hpp"
#include "stores/listed/roster.hpp"

namespace holdfast::inline v0::etcd {

using listed::judge;
using listed::Judgement;
using listed::Member;
using listed::place_in;
using listed::PlaceText;
using listed::Roster;
using listed::text_of;

/// What the verbs of one client share: its leases, its contenders, and what they watch. A member's
/// session is its lease.
/// Threads: all members may be called from any thread.
class Common final : public Watches::Listener, public std::enable_shared_from_this<Common> {
public:
    explicit Common(Cluster cluster) : wire(std::move(cluster)) {}

    Roster roster;
    Leases leases;
    Turnstile turnstile;
    Slots slots;
    const std::shared_ptr<Watchers> watchers = std::make_shared<Watchers>();
    EtcdWire wire;

    const Cluster& cluster() const { return wire.cluster(); }

    /// `read(common, answer)` is called unless this is gone by then.
    template <class Request, class Read>
    void submit(Request request, Read read, Terms terms = {}) {
        wire.submit(
            std::move(request),
            [weak = weak_from_this(),
             read = std::move(read)](EtcdWire::AnswerTo<Request> answer) mutable {
                if (const auto self = weak.lock()) read(*self, std::move(answer));
            },
            terms);
    }

    /// Takes what is over out of line: leases that nobody renewed while this client was busy or
    /// paused. Each verb begins with it.
    void tidy();
    /// In the background, and again until it is answered or its lease is over.
    void remove_key(const PlaceText& place, const Nonce& nonce);

    /// A lease for contenders with this one, of which enough is left: the present one, also kept
    /// alive once more, or another one. The key is one that this user may read.
    void want_lease(std::chrono::milliseconds lease, const std::string& key, Leases::Wanted wanted);
    /// As want_lease(), kept alive in any case; but perhaps by what others asked for before.
    void want_kept_lease(std::chrono::milliseconds lease, const std::string& key,
                         Leases::Wanted wanted);
    /// One for what must stay as long as a request can be late, and go by itself then.
    void want_guard_lease(Leases::Wanted wanted);
    /// Asks the servers to keep it. `kept` is told when and by whom, or nothing when it is over. It
    /// counts when it was proved: see keep_lease().
    using Kept = Callback<void(Common&, Result<std::optional<KeepAlives::Kept>>)>;
    void keep_alive(std::int64_t lease, Kept kept);
    /// When it is not worthwhile any more to ask for the end of what is bound to that lease: it
    /// has ended by itself, or the time of a request is over.
    Moment end_of_interest(std::int64_t lease) const;
    /// Gives the leases back, and all that came with them. Waits for that, but not for long.
    void say_goodbye() noexcept;
    /// All that came with it is gone.
    void lease_over(std::int64_t lease);

    /// Where a contender of ours stands, by the list of its line up to itself. Remembers it, and
    /// watches what it must.
    Standing stands(const Member& member, const std::vector<Seat>& line, std::int64_t revision);
    /// Forgets it, and what it watched.
    std::optional<Member> forget(const Nonce& nonce);
    /// Watches what it waits for, if somebody wants to hear of it.
    void arm(const Nonce& nonce);
    /// So that it is known when it ends before its turn, it is watched itself, too.
    static std::vector<std::string> watched_by(const std::string& key, const Judgement& judgement);

    void stirred(const std::string& key, Watches::What what) override;
    void look_again(const std::string& key, std::int64_t since) override;

private:
    void get_lease(std::chrono::seconds ttl, const std::string& key);
    void grant_lease(std::chrono::seconds ttl);
    void revoke_lease(std::int64_t lease);
    void unwatch(const Member& member);
    Standing admitted(const Member& member);
    void leave_behind(const Member& member, const Seat& other);
};

}  // namespace holdfast::inline v0::etcd
