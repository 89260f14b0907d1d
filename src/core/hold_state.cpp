#include "core/hold_state.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast::inline v0::core {

HoldState::HoldState(std::shared_ptr<Context> context, std::string name)
    : context_(std::move(context)), name_(std::move(name)) {}

void HoldState::admit(std::vector<std::shared_ptr<Kept>> kept, std::vector<std::uint64_t> fences) {
    kept_ = std::move(kept);
    fences_ = std::move(fences);
    const auto self = shared_from_this();
    for (const auto& one : kept_) context_->keeper().hand_over(*one, self);
}

Moment HoldState::valid_until() const noexcept {
    Moment earliest = Moment::max();
    for (const auto& kept : kept_) earliest = std::min(earliest, kept->valid_until());
    return earliest;
}

std::chrono::nanoseconds HoldState::remaining() const noexcept {
    const bool ours = !inherited() && !over_.load(std::memory_order_acquire) &&
                      loss_.load(std::memory_order_acquire) == Loss::none;
    if (!ours) return std::chrono::nanoseconds::zero();
    return std::max(valid_until() - context_->clock().now(), std::chrono::nanoseconds::zero());
}

Loss HoldState::loss() const noexcept {
    if (inherited()) return Loss::inherited;
    const Loss told = loss_.load(std::memory_order_acquire);
    const bool unheard = told == Loss::none && !over_.load(std::memory_order_acquire) &&
                         context_->clock().now() >= valid_until();
    return unheard ? Loss::overdue : told;
}

void HoldState::renewed(const Kept&, const Standing& standing) {
    if (standing.state != Standing::State::gone) return tell_renewed();
    // held() is false from here on; the user's callbacks run elsewhere.
    Loss expected = Loss::none;
    loss_.compare_exchange_strong(expected, Loss::ended);
    context_->telling().post([self = shared_from_this()] { self->lose(Loss::ended); });
}

void HoldState::tell_renewed() {
    auto* const observer = context_->observer();
    if (observer == nullptr || over_.load(std::memory_order_acquire)) return;
    context_->telling().post([self = shared_from_this(), observer] {
        observer->renewed(self->name_, self->fences_.front());
    });
}

void HoldState::overdue(const Kept&) {
    lose(Loss::overdue);
}

void HoldState::lose(Loss why) {
    if (over_.load(std::memory_order_acquire)) return;
    Loss expected = Loss::none;
    loss_.compare_exchange_strong(expected, why);
    for (const auto& kept : kept_) context_->keeper().forget(*kept);
    if (!lost_.request_stop()) return;
    if (auto* observer = context_->observer()) observer->lost(name_, fences_.front(), loss());
}

std::stop_token HoldState::lost() const noexcept {
    // The parent's tokens fire there. Whoever asks here is told at once.
    return inherited() ? nothing_held() : lost_.get_token();
}

std::stop_token HoldState::nothing_held() noexcept {
    static const auto& told = *[] {
        auto* source = new std::stop_source;
        source->request_stop();
        return source;
    }();
    return told.get_token();
}

bool HoldState::lengthen(std::chrono::milliseconds lease) noexcept {
    if (!held() || must_not_wait()) return false;
    const auto longest = context_->store().capabilities().longest_lease;
    return context_->keeper().lengthen(kept_, std::min(lease, longest));
}

Released HoldState::release() noexcept {
    if (inherited()) return Released::unknown;
    if (must_not_wait()) {
        release_unwaited({});
        const std::lock_guard guard(release_mutex_);
        return released_.value_or(Released::unknown);
    }
    std::unique_lock lock(release_mutex_);
    if (leave_ != Leave::not_yet) {
        await_leave(lock);
        return released_.value_or(Released::unknown);
    }
    leave_ = Leave::being_waited_for;
    lock.unlock();
    const Released how = give_back();
    lock.lock();
    released_ = how;
    note_leave_sent(lock);
    if (auto* observer = context_->observer()) observer->released(name_, fences_.front(), how);
    return how;
}

void HoldState::await_leave(std::unique_lock<std::mutex>& lock) noexcept {
    leave_is_sent_.wait(lock, [this] { return leave_ == Leave::sent; });
}

void HoldState::note_leave_sent(std::unique_lock<std::mutex>& lock) noexcept {
    leave_ = Leave::sent;
    lock.unlock();
    leave_is_sent_.notify_all();
}

void HoldState::let_go() noexcept {
    if (waits_) {
        release();
    } else {
        release_unwaited({});
    }
}

Released HoldState::give_back() noexcept {
    // Past its end the place is free by itself, and nobody need be told any more.
    const Moment until = std::max(valid_until(), context_->clock().now() + lease() / 3);
    return context_->give_back(stop_keeping(), lease(), until);
}

std::vector<Ticket> HoldState::stop_keeping() noexcept {
    over_.store(true, std::memory_order_release);
    std::vector<Ticket> tickets;
    tickets.reserve(kept_.size());
    for (const auto& kept : kept_) {
        context_->keeper().forget(*kept);
        tickets.push_back(kept->ticket());
    }
    return tickets;
}

void HoldState::release_unwaited(OnReleased done) noexcept {
    std::vector<OnReleased> whom;
    if (done) whom.push_back(std::move(done));
    if (inherited()) return tell(std::move(whom), Released::unknown);
    std::unique_lock lock(release_mutex_);
    // Another thread gives it back, and waits for the store.
    if (leave_ == Leave::being_waited_for) return tell(std::move(whom), Released::unknown);
    // What the caller asks for next is to come behind it.
    if (leave_ == Leave::being_sent && !must_not_wait()) await_leave(lock);
    if (released_) return tell(std::move(whom), *released_);
    // A client that somebody wants to hear of stays until that is told; else its end waits for the
    // leave, and not the leave for its end.
    const bool heard = !whom.empty() || context_->observer() != nullptr;
    const bool first = leave_ == Leave::not_yet;
    const auto stay = first ? std::make_shared<Stay>() : stay_.lock();
    if (!stay) return tell(std::move(whom), Released::unknown);
    stay_ = stay;
    if (heard) stay->whose = shared_from_this();
    std::ranges::move(whom, std::back_inserter(to_be_told_));
    if (!first) return;
    leave_ = Leave::being_sent;
    // Whoever is told may let it go at once.
    const auto alive = shared_from_this();
    const auto tickets = stop_keeping();
    lock.unlock();
    context_->send_off(tickets, lease(), [weak = weak_from_this(), stay](Released how) {
        if (const auto self = weak.lock()) self->left(how);
    });
    lock.lock();
    note_leave_sent(lock);
}

void HoldState::left(Released how) {
    std::vector<OnReleased> whom;
    {
        const std::lock_guard guard(release_mutex_);
        released_ = how;
        whom.swap(to_be_told_);
    }
    if (auto* observer = context_->observer()) {
        context_->telling().post([self = shared_from_this(), observer, how] {
            observer->released(self->name_, self->fences_.front(), how);
        });
    }
    tell(std::move(whom), how);
}

void HoldState::tell(std::vector<OnReleased> whom, Released how) noexcept {
    if (whom.empty()) return;
    const auto call = [](const std::vector<OnReleased>& them, Released told) {
        for (const OnReleased& one : them) one(told);
    };
    // In a forked child there is no other thread.
    if (inherited()) return call(whom, how);
    context_->telling().post(
        [self = shared_from_this(), whom = std::move(whom), how, call] { call(whom, how); });
}

}  // namespace holdfast::inline v0::core
