#include "core/hold_state.hpp"

#include <algorithm>
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
    if (standing.state != Standing::State::gone) return;
    // held() is false from here on; the user's callbacks run elsewhere.
    Loss expected = Loss::none;
    loss_.compare_exchange_strong(expected, Loss::ended);
    context_->telling().post([self = shared_from_this()] { self->lose(Loss::ended); });
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
    if (!inherited()) return lost_.get_token();
    // The parent's tokens fire there. Whoever asks here is told at once.
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
    std::unique_lock lock(release_mutex_, std::defer_lock);
    if (!must_not_wait()) {
        lock.lock();
    } else if (!lock.try_lock()) {
        // Another thread gives it back, and may wait for the store.
        return Released::unknown;
    }
    if (!released_) {
        released_ = give_back();
        if (auto* observer = context_->observer()) {
            observer->released(name_, fences_.front(), *released_);
        }
    }
    return *released_;
}

Released HoldState::give_back() noexcept {
    const auto lease = kept_.front()->lease();
    // Past its end the place is free by itself, and nobody need be told any more.
    const Moment until = std::max(valid_until(), context_->clock().now() + lease / 3);
    over_.store(true, std::memory_order_release);
    std::vector<Ticket> tickets;
    tickets.reserve(kept_.size());
    for (const auto& kept : kept_) {
        context_->keeper().forget(*kept);
        tickets.push_back(kept->ticket());
    }
    return context_->give_back(tickets, lease, until);
}

}  // namespace holdfast::inline v0::core
