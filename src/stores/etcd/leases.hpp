#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <holdfast/callback.hpp>

#include "port/failure.hpp"
#include "stores/etcd/keep_alives.hpp"
#include "stores/etcd/lease_book.hpp"

namespace holdfast::inline v0::etcd {

class Protocol;

/// The leases of one client, one for each duration: granted when it is first wanted, kept alive,
/// and given back.
/// Threads: all members may be called from any thread.
class Leases {
public:
    /// Which owns this, and is told when a lease is over.
    explicit Leases(Protocol& protocol) : protocol_(protocol) {}

    using Wanted = LeaseBook::Wanted;
    std::optional<Lease> find(std::chrono::milliseconds lease) const {
        return book_.find(ttl_for(lease));
    }
    std::optional<Lease> find_by_id(std::int64_t id) const { return book_.find_by_id(id); }

    /// One for contenders with this lease, of which enough is left: the present one, also kept
    /// alive once more, or another one. The key is one that this user may read.
    void want(std::chrono::milliseconds lease, const std::string& key, Wanted wanted);
    /// As want(), kept alive in any case; but perhaps by what others asked for before.
    void want_kept(std::chrono::milliseconds lease, const std::string& key, Wanted wanted);
    /// One for what must stay as long as a request can be late, and go by itself then.
    void want_for_guard(Wanted wanted);
    /// The servers do not know that one, which is of no contender.
    void forget_for_guard(std::int64_t id) { book_.forget(id); }

    /// Asks the servers to keep it. `kept` is told when and by whom, or nothing when it is over. It
    /// counts when it was proved: see Proof.
    using Kept = Callback<void(Protocol&, Result<std::optional<KeepAlives::Kept>>)>;
    void keep_alive(std::int64_t id, Kept kept);
    void proved(std::int64_t id, Moment since) { book_.heard(id, since); }
    /// All that came with it is gone.
    void over(std::int64_t id);

    /// When it is not worthwhile any more to ask for the end of what is bound to that lease: it
    /// has ended by itself, or the time of a request is over.
    Moment end_of_interest(std::int64_t id) const;
    /// Gives them back, and all that came with them. Waits for that, but not for long.
    void give_back() noexcept;

private:
    void get(std::chrono::seconds ttl, const std::string& key);
    void grant(std::chrono::seconds ttl);
    void revoke(std::int64_t id);

    Protocol& protocol_;
    LeaseBook book_;
};

}  // namespace holdfast::inline v0::etcd
