#include "core/keeper.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/lease.hpp"
#include "port/unanswered.hpp"

namespace holdfast::inline v0::core {

namespace {

constexpr std::chrono::milliseconds time_to_stop{1000};

/// The size of the batches into which one that failed is parted, for one of them may be why. One
/// among 500 that is refused is alone after the third time, before anybody is lost; and where all
/// are refused for a while, a client does not drown its store in requests. One that was sent and
/// not answered took a request's time, so there are fewer tries: it is alone after the second. One
/// that was not sent says nothing of those in it.
std::size_t smaller(std::size_t batch, const Failure* failure) {
    const bool is_refused = failure == nullptr || failure->code != errc::unreachable;
    if (!is_refused && failure->effect == Effect::none) return batch;
    return std::max<std::size_t>(batch / (is_refused ? 8 : 32), 1);
}

std::string in_seconds(std::chrono::microseconds time) {
    const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 100;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

/// What a jump of the server's clock means.
Failure jumped(const std::string& store, std::chrono::microseconds by) {
    if (by.count() > 0) {
        return {errc::unreachable, Effect::none,
                store + ": the server's clock went forward by " + in_seconds(by) +
                    ", so leases ended early; all are renewed at once, to tell which; let it be "
                    "slewed, not set"};
    }
    return {errc::unreachable, Effect::none,
            store + ": the server's clock went back by " + in_seconds(-by) +
                ", so a dead holder keeps its place for as much longer; let it be slewed, not set"};
}

/// Of all, or of some: why those were not answered for is told when they are renewed apart from the
/// others, which is soon.
std::optional<Failure> failure_in(const Result<std::vector<Standing>>& result,
                                  const std::string& store) {
    if (!result.ok()) return result.failure();
    if (std::ranges::none_of(result.value(), is_unanswered)) return std::nullopt;
    return Failure{errc::unreachable, Effect::unknown,
                   store + ": some of those that were renewed together were not answered for"};
}

}  // namespace

Keeper::Keeper(Store& store, const Clock& clock, Alarm& renewing, Alarm& telling,
               OnFailure renewal_failed)
    : store_(store),
      clock_(clock),
      renewing_(renewing),
      telling_(telling),
      renewal_failed_(std::move(renewal_failed)) {}

void Keeper::keep(const std::shared_ptr<Kept>& kept, Ticket ticket, Moment from,
                  const std::shared_ptr<KeptListener>& listener) {
    kept->ticket_ = std::move(ticket);
    const std::lock_guard guard(mutex_);
    kept->listener_ = listener;
    kept->counted_from_ = from;
    kept->valid_until_.store(valid_until(from, kept->lease_), std::memory_order_release);
    kept->deadline_ = deadlines_.emplace_hint(deadlines_.end(), told_at(from, kept->lease_), kept);
    schedule_renewal(*kept, kept, renewal_due(from, kept->lease_));
    // Not by the renewing thread, later: a store may keep that one from its work.
    arm_telling();
}

void Keeper::hand_over(Kept& kept, const std::shared_ptr<KeptListener>& listener) {
    {
        const std::lock_guard guard(mutex_);
        kept.listener_ = listener;
        if (kept.deadline_) return;
    }
    // It was found gone or overdue while the answer that admitted it was on its way.
    if (kept.was_overdue_) return telling_.post([listener, &kept] { listener->overdue(kept); });
    listener->renewed(kept, Standing{.state = Standing::State::gone});
}

void Keeper::confirm(Kept& kept, Moment from) {
    const std::lock_guard guard(mutex_);
    if (kept.deadline_) count_from(kept, from, kept.lease_);
}

void Keeper::admitted(Kept& kept, std::uint64_t fence) {
    const std::lock_guard guard(mutex_);
    kept.fence_ = fence;
    kept.admitted_at_ = clock_.now();
}

bool Keeper::lengthen(std::span<const std::shared_ptr<Kept>> kept,
                      std::chrono::milliseconds lease) {
    if (!take_out_of_agenda(kept)) return false;
    std::vector<Ticket> tickets;
    for (const auto& one : kept) tickets.push_back(one->ticket_);
    // Nobody is made to hold for less than it asked for.
    const auto length = std::max(lease, kept.front()->lease_);
    const Batch batch(kept.begin(), kept.end());
    const Moment sent = clock_.now();
    trust_less(batch, sent, length);
    const auto result = store_.renew(tickets, {length, sent}).get();
    answered(batch, sent, length, result);
    if (!result.ok()) return false;
    const std::lock_guard guard(mutex_);
    // A renewal that was sent since has made it short again.
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const Standing& standing = result.value()[i];
        const Moment from = standing.counted_from.value_or(sent);
        const bool granted = kept[i]->deadline_ && !is_unanswered(standing) &&
                             kept[i]->valid_until() >= valid_until(from, length);
        if (!granted) return false;
    }
    return true;
}

/// Ends their renewals; refuses while one of them is on its way: it might shorten the lease again,
/// unnoticed.
bool Keeper::take_out_of_agenda(std::span<const std::shared_ptr<Kept>> kept) {
    const std::lock_guard guard(mutex_);
    const auto idle = [](const std::shared_ptr<Kept>& one) { return one->renewal_.has_value(); };
    if (!std::ranges::all_of(kept, idle)) return false;
    for (const auto& one : kept) renewals_.erase(*std::exchange(one->renewal_, std::nullopt));
    return true;
}

void Keeper::forget(Kept& kept) {
    const std::lock_guard guard(mutex_);
    drop(kept);
}

std::string Keeper::last_failure() const {
    const std::lock_guard guard(mutex_);
    return last_failure_;
}

void Keeper::close() {
    const std::lock_guard guard(mutex_);
    closed_ = true;
}

Kept::Agenda::node_type Keeper::drop(Kept& kept) {
    if (kept.renewal_) renewals_.erase(*std::exchange(kept.renewal_, std::nullopt));
    if (!kept.deadline_) return {};
    return deadlines_.extract(*std::exchange(kept.deadline_, std::nullopt));
}

void Keeper::count_from(Kept& kept, Moment from, std::chrono::milliseconds lease) {
    if (from < kept.counted_from_) return;
    kept.counted_from_ = from;
    trust(kept, from, lease);
}

void Keeper::trust(Kept& kept, Moment from, std::chrono::milliseconds lease) {
    kept.valid_until_.store(valid_until(from, lease), std::memory_order_release);
    auto node = deadlines_.extract(*kept.deadline_);
    node.key() = told_at(from, lease);
    kept.deadline_ = deadlines_.insert(deadlines_.end(), std::move(node));
}

/// Whether or not it is answered: from its arrival on the lease is no longer than this one says.
void Keeper::trust_less(const Batch& batch, Moment sent, std::chrono::milliseconds lease) {
    const std::lock_guard guard(mutex_);
    for (const auto& kept : batch) {
        if (kept->deadline_ && valid_until(sent, lease) < kept->valid_until()) {
            trust(*kept, sent, lease);
        }
    }
    arm_telling();
}

void Keeper::schedule_renewal(Kept& kept, std::shared_ptr<Kept> owned, Moment due) {
    kept.renewal_ = renewals_.emplace_hint(renewals_.end(), due, std::move(owned));
    arm_renewal();
}

void Keeper::arm_renewal() {
    rearm(renewing_, renewals_, renewal_armed_, renewal_timer_, &Keeper::renew_due);
}

void Keeper::arm_telling() {
    rearm(telling_, deadlines_, telling_armed_, telling_timer_, &Keeper::tell_overdue);
}

/// Armed for the earliest only, and never for a later one: a hold that is taken and given back
/// costs no system call, the alarm that it leaves behind finds nothing to do.
void Keeper::rearm(Alarm& alarm, const Kept::Agenda& agenda, Moment& armed, Alarm::Timer& timer,
                   void (Keeper::*due)()) {
    if (closed_ || agenda.empty() || agenda.begin()->first >= armed) return;
    const Moment earliest = agenda.begin()->first;
    const Alarm::Timer set = alarm.at(earliest, [weak = weak_from_this(), due] {
        const auto keeper = weak.lock();
        const auto owner = keeper ? keeper->hold_owner() : nullptr;
        if (owner) (keeper.get()->*due)();
    });
    alarm.cancel(std::exchange(timer, set));
    armed = earliest;
}

std::shared_ptr<const void> Keeper::hold_owner() const {
    return owner_ ? owner_->lock() : std::shared_ptr<const void>(shared_from_this());
}

void Keeper::renew_due() {
    for (Batch& batch : take_due()) send(std::move(batch));
    const std::lock_guard guard(mutex_);
    renewal_armed_ = Moment::max();
    arm_renewal();
}

/// The renewals that are due now or soon, by lease, each batch of a bearable size.
std::vector<Keeper::Batch> Keeper::take_due() {
    const std::lock_guard guard(mutex_);
    const Moment now = clock_.now();
    std::map<std::pair<std::chrono::milliseconds, std::size_t>, Batch> alike;
    std::vector<Batch> batches;
    while (!renewals_.empty()) {
        const auto first = renewals_.begin();
        const auto& kept = first->second;
        if (first->first > now + renewal_window(kept->lease_)) break;
        const std::size_t company = kept->company_;
        Batch& batch = alike[{kept->lease_, company}];
        kept->renewal_.reset();
        batch.push_back(std::move(first->second));
        renewals_.erase(first);
        if (batch.size() == company) batches.push_back(std::exchange(batch, {}));
    }
    for (auto& [like, batch] : alike) {
        if (!batch.empty()) batches.push_back(std::move(batch));
    }
    return batches;
}

/// Whoever was given back meanwhile is not renewed any more.
void Keeper::leave_out_forgotten(Batch& batch) const {
    const std::lock_guard guard(mutex_);
    std::erase_if(batch, [](const auto& kept) { return !kept->deadline_; });
}

void Keeper::send(Batch batch) {
    leave_out_forgotten(batch);
    if (batch.empty()) return;
    std::vector<Ticket> tickets;
    tickets.reserve(batch.size());
    for (const auto& kept : batch) tickets.push_back(kept->ticket_);
    const auto lease = batch.front()->lease_;
    const Moment sent = clock_.now();
    trust_less(batch, sent, lease);
    store_.renew(tickets, {lease, sent})
        .then([weak = weak_from_this(), batch = std::move(batch), sent,
               lease](const Result<std::vector<Standing>>& result) {
            const auto keeper = weak.lock();
            const auto owner = keeper ? keeper->hold_owner() : nullptr;
            if (owner) keeper->answered(batch, sent, lease, result);
        });
}

struct Keeper::News {
    std::shared_ptr<KeptListener> listener;
    Kept& kept;
    Standing standing;
    Kept::Agenda::node_type deadline;  ///< of one that is gone
};

void Keeper::answered(const Batch& batch, Moment sent, std::chrono::milliseconds lease,
                      const Result<std::vector<Standing>>& result) {
    std::vector<News> news;
    // Now: what is taken out of the agenda below must be told.
    news.reserve(batch.size());
    std::optional<Failure> trouble;
    bool again = false;
    {
        const std::lock_guard guard(mutex_);
        // First: these were renewed by that clock already.
        trouble = result.ok() ? look_at_clock(sent, result) : result.failure();
        auto failure = failure_in(result, store_.description());
        again = !failure && !last_failure_.empty();
        last_failure_ = failure ? failure->sentence : std::string();
        if (!trouble) trouble = std::move(failure);
        take_answers(batch, sent, lease, result, news);
    }
    tell(news);
    if (trouble) renewal_failed_(*trouble);
    if (again && answered_again_) answered_again_();
}

/// What throws, for want of memory, is about one of them. That one is renewed no more, so it is
/// told at its deadline.
void Keeper::take_answers(const Batch& batch, Moment sent, std::chrono::milliseconds lease,
                          const Result<std::vector<Standing>>& result, std::vector<News>& news) {
    const auto take = [&](const std::shared_ptr<Kept>& one, const Standing* answer) {
        Kept& kept = *one;
        if (!kept.deadline_) return;  // forgotten meanwhile
        if (answer == nullptr || is_unanswered(*answer)) {
            kept.company_ = std::min(
                kept.company_, smaller(batch.size(), result.ok() ? nullptr : &result.failure()));
            return schedule_renewal(kept, one, clock_.now() + renewal_retry(kept.lease_));
        }
        kept.company_ = largest_batch;
        // It was over before this came, and whoever asked was told so: the telling thread is about
        // to say it, too.
        if (kept.fence_ && clock_.now() >= kept.valid_until()) return;
        const Standing standing = take_answer(one, sent, lease, *answer);
        const bool is_gone = standing.state == Standing::State::gone;
        auto deadline = is_gone ? drop(kept) : Kept::Agenda::node_type();
        if (auto listener = kept.listener_.lock()) {
            news.push_back({std::move(listener), kept, standing, std::move(deadline)});
        }
    };
    for (std::size_t i = 0; i < batch.size(); ++i) {
        try {
            take(batch[i], result.ok() ? &result.value()[i] : nullptr);
        } catch (const std::exception&) {
            continue;
        }
    }
}

/// One who cannot be told, for want of memory say, keeps the news from nobody else. That one is
/// gone is said again then, by the telling thread.
void Keeper::tell(std::vector<News>& news) {
    bool is_put_back = false;
    for (News& one : news) {
        try {
            one.listener->renewed(one.kept, one.standing);
        } catch (const std::exception&) {
            if (!one.deadline) continue;
            const std::lock_guard guard(mutex_);
            one.deadline.key() = clock_.now();
            one.kept.deadline_ = deadlines_.insert(std::move(one.deadline));
            is_put_back = true;
        }
    }
    if (!is_put_back) return;
    const std::lock_guard guard(mutex_);
    arm_telling();
}

std::optional<Failure> Keeper::look_at_clock(Moment sent,
                                             const Result<std::vector<Standing>>& result) {
    const auto told = std::ranges::find_if(
        result.value(), [](const Standing& one) { return one.server_clock.has_value(); });
    if (told == result.value().end()) return std::nullopt;
    const auto jump = server_clock_.heard(sent, clock_.now(), *told->server_clock);
    if (jump.count() > 0) renew_all_now();
    if (jump.count() == 0) return std::nullopt;
    return jumped(store_.description(), jump);
}

/// So that what has ended early is told now, and not a third of a lease later.
void Keeper::renew_all_now() {
    const Moment now = clock_.now();
    Kept::Agenda waiting;
    waiting.swap(renewals_);
    for (auto& [due, kept] : waiting) {
        Kept& one = *kept;
        one.renewal_ = renewals_.emplace(std::min(due, now), std::move(kept));
    }
    arm_renewal();
}

/// What the answer means to the one that it is about (`gone`: drop it): a hold is kept by
/// `admitted` with its own fence and ended by everything else, for then the store knows of another
/// past than we do.
Standing Keeper::take_answer(const std::shared_ptr<Kept>& kept, Moment sent,
                             std::chrono::milliseconds lease, const Standing& standing) {
    using State = Standing::State;
    const bool admitted = standing.state == State::admitted;
    if (admitted && !kept->fence_) {
        kept->fence_ = standing.fence;
        kept->admitted_at_ = clock_.now();
    }
    const bool other = kept->fence_ && !(admitted && kept->fence_ == standing.fence);
    // Sent before the admission was known, it may have been looked at before it, too: that says
    // nothing of the hold, and the next one decides.
    const bool stale = other && sent < kept->admitted_at_;
    if (standing.state == State::gone || (other && !stale)) return {.state = State::gone};
    if (!stale) count_from(*kept, standing.counted_from.value_or(sent), lease);
    // Whoever has lengthened it has a moment to stop before it is made short again.
    const auto in_no_hurry = std::max(kept->lease_, std::min(lease, 3 * time_to_stop));
    schedule_renewal(*kept, kept, renewal_due(sent, in_no_hurry));
    return stale ? Standing{.state = State::admitted, .fence = *kept->fence_} : standing;
}

void Keeper::tell_overdue() {
    Batch overdue;
    {
        const std::lock_guard guard(mutex_);
        const Moment now = clock_.now();
        while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
            overdue.push_back(deadlines_.begin()->second);
            overdue.back()->was_overdue_ = true;
            drop(*overdue.back());
        }
        telling_armed_ = Moment::max();
        arm_telling();
    }
    for (const auto& kept : overdue) {
        std::unique_lock lock(mutex_);
        const auto listener = kept->listener_.lock();
        lock.unlock();
        if (listener) listener->overdue(*kept);
    }
}

}  // namespace holdfast::inline v0::core
