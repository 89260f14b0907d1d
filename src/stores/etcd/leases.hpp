#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/callback.hpp>

#include "port/failure.hpp"
#include "stores/etcd/etcd_wire.hpp"
#include "stores/etcd/lease_book.hpp"

namespace holdfast::inline v0::etcd {

/// The leases of one client, one for each duration: granted when it is first wanted, kept alive,
/// and given back.
/// Threads: all members may be called from any thread.
class Leases {
public:
    /// Whoever owns this and the wire. When it is gone, nobody is called back.
    class Owner {
    public:
        virtual ~Owner() = default;
        /// All that came with it is gone.
        virtual void lease_over(std::int64_t id) = 0;
    };

    explicit Leases(EtcdWire& wire) : wire_(wire) {}
    /// Before anything else.
    void belong_to(const std::weak_ptr<Owner>& owner) { owner_ = owner; }

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

    /// Asks the servers to keep these, and looks at something at the same time, which proves that
    /// they were kept: see LeaseProof. Both again until they are of one term. Of those that are
    /// over, the owner is told before `kept` is, with the answers to the looks.
    using Kept = Callback<void(Result<std::vector<messages::TxnResponse>>)>;
    void keep(std::vector<std::int64_t> ids, std::vector<messages::TxnRequest> looks,
              Moment deadline, Kept kept);
    void over(std::int64_t id);

    /// When it is not worthwhile any more to ask for the end of what is bound to that lease: it
    /// has ended by itself, or the time of a request is over.
    Moment end_of_interest(std::int64_t id) const;
    /// Gives them back, and all that came with them. Waits for that, but not for long.
    void give_back() noexcept;

private:
    class Keeping;
    class Getting;

    /// `told` for an answer, unless the owner is gone by then.
    template <class Told>
    auto while_owned(Told told) const {
        return [weak = owner_, told = std::move(told)](auto answer) mutable {
            if (const auto owner = weak.lock()) told(std::move(answer));
        };
    }
    void get(const std::shared_ptr<Getting>& getting, const std::string& key);
    void grant(const std::shared_ptr<Getting>& getting);

    EtcdWire& wire_;
    std::weak_ptr<Owner> owner_;
    LeaseBook book_;
};

}  // namespace holdfast::inline v0::etcd
