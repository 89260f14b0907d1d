#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/alarm.hpp"
#include "core/server_clock.hpp"
#include "port/contender.hpp"
#include "port/store.hpp"

namespace holdfast::inline v0::core {

class Kept;

/// So that one request never stalls a store for everybody else.
inline constexpr std::size_t largest_batch = 500;

/// Whoever wants to know how a kept contender fares. Called with no lock held.
class KeptListener {
public:
    virtual ~KeptListener() = default;
    /// On the renewing thread: must be quick, and call nothing of the user's.
    virtual void renewed(const Kept& kept, const Standing& standing) = 0;
    /// On the telling thread: the store was not heard of in time.
    virtual void overdue(const Kept& kept) = 0;
};

/// A contender whose lease is renewed.
class Kept {
public:
    Kept(std::chrono::milliseconds lease, std::size_t index) : lease_(lease), index_(index) {}

    const Ticket& ticket() const noexcept { return ticket_; }
    std::chrono::milliseconds lease() const noexcept { return lease_; }
    /// Which of an acquisition's contenders it is.
    std::size_t index() const noexcept { return index_; }
    Moment valid_until() const noexcept { return valid_until_.load(std::memory_order_acquire); }

private:
    friend class Keeper;
    using Agenda = std::multimap<Moment, std::shared_ptr<Kept>>;

    Ticket ticket_;  ///< the same from when it is kept
    const std::chrono::milliseconds lease_;
    const std::size_t index_;
    std::atomic<Moment> valid_until_{Moment{}};

    // Guarded by the keeper's mutex.
    Moment counted_from_{};
    std::optional<std::uint64_t> fence_;  ///< of one that is admitted
    Moment admitted_at_{};                ///< when that was answered
    std::weak_ptr<KeptListener> listener_;
    /// How many it is renewed with at the most. Fewer, and in the end it alone, when the store
    /// refused them: one of the others may be why.
    std::size_t company_ = largest_batch;
    std::optional<Agenda::iterator> renewal_;
    std::optional<Agenda::iterator> deadline_;
    bool was_overdue_ = false;
};

/// Renews holders and waiters at a third of their lease, in batches, and tells before the lease
/// runs out when the store was not heard of. Renewing and telling have an alarm each: a store that
/// blocks must not delay bad news, nor a user's callback the renewals.
/// Threads: all members may be called from any thread.
class Keeper : public std::enable_shared_from_this<Keeper> {
public:
    using OnFailure = Callback<void(const Failure&)>;

    /// Everything must outlive the keeper. `renewal_failed` is called on the renewing thread, also
    /// when the server's clock has jumped.
    Keeper(Store& store, const Clock& clock, Alarm& renewing, Alarm& telling,
           OnFailure renewal_failed);

    /// Nothing of the above may go while the keeper works: it holds on to their owner meanwhile.
    void belong_to(std::weak_ptr<const void> owner) { owner_ = std::move(owner); }

    /// Called on the renewing thread when a renewal is answered after one that failed.
    void when_answered_again(Callback<void()> answered_again) {
        answered_again_ = std::move(answered_again);
    }

    /// Starts renewing what was confirmed by a request sent at `from`.
    void keep(const std::shared_ptr<Kept>& kept, Ticket ticket, Moment from,
              const std::shared_ptr<KeptListener>& listener);
    /// Somebody else wants to know from now on, also when it is over already.
    void hand_over(Kept& kept, const std::shared_ptr<KeptListener>& listener);
    /// An answered request that was sent at `from` has extended the lease.
    void confirm(Kept& kept, Moment from);
    /// It was answered: admitted, with this fence. From now on only the same answer keeps it.
    void admitted(Kept& kept, std::uint64_t fence);
    /// Renews at once with a longer lease than their own, for a time in which nobody can; the next
    /// renewal has their own again. Whether the store has granted it to all of them.
    bool lengthen(std::span<const std::shared_ptr<Kept>> kept, std::chrono::milliseconds lease);
    /// No renewal is sent from now on, and nobody is told.
    void forget(Kept& kept);
    /// What the store said to the last renewal, if that failed.
    std::string last_failure() const;
    /// The alarms are about to go: an answer that still comes in finds nothing to do.
    void close();

private:
    using Batch = std::vector<std::shared_ptr<Kept>>;

    void renew_due();
    std::vector<Batch> take_due();
    void leave_out_forgotten(Batch& batch) const;
    void send(Batch batch);
    void answered(const Batch& batch, Moment sent, std::chrono::milliseconds lease,
                  const Result<std::vector<Standing>>& result);
    struct News;
    void take_answers(const Batch& batch, Moment sent, std::chrono::milliseconds lease,
                      const Result<std::vector<Standing>>& result, std::vector<News>& news);
    void tell(std::vector<News>& news);
    std::optional<Failure> look_at_clock(Moment sent, const Result<std::vector<Standing>>& result);
    void renew_all_now();
    Standing take_answer(const std::shared_ptr<Kept>& kept, Moment sent,
                         std::chrono::milliseconds lease, const Standing& standing);
    void tell_overdue();
    void count_from(Kept& kept, Moment from, std::chrono::milliseconds lease);
    void trust(Kept& kept, Moment from, std::chrono::milliseconds lease);
    void trust_less(const Batch& batch, Moment sent, std::chrono::milliseconds lease);
    bool take_out_of_agenda(std::span<const std::shared_ptr<Kept>> kept);
    void schedule_renewal(Kept& kept, std::shared_ptr<Kept> owned, Moment due);
    /// Its deadline is the caller's then, for one who may have to put it back.
    Kept::Agenda::node_type drop(Kept& kept);
    void arm_renewal();
    void arm_telling();
    void rearm(Alarm& alarm, const Kept::Agenda& agenda, Moment& armed, Alarm::Timer& timer,
               void (Keeper::*due)());
    std::shared_ptr<const void> hold_owner() const;

    Store& store_;
    const Clock& clock_;
    Alarm& renewing_;
    Alarm& telling_;
    OnFailure renewal_failed_;
    Callback<void()> answered_again_;

    mutable std::mutex mutex_;
    bool closed_ = false;
    std::string last_failure_;
    ServerClock server_clock_;
    Kept::Agenda renewals_;
    Kept::Agenda deadlines_;
    Moment renewal_armed_ = Moment::max();
    Moment telling_armed_ = Moment::max();
    Alarm::Timer renewal_timer_ = 0;
    Alarm::Timer telling_timer_ = 0;
    std::optional<std::weak_ptr<const void>> owner_;
};

}  // namespace holdfast::inline v0::core
