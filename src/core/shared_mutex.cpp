#include <holdfast/shared_mutex.hpp>

#include "core/guarded.hpp"

namespace holdfast::inline v0 {

namespace {
constexpr std::uint64_t one_share = 1;
}

SharedMutex::SharedMutex(const Client& client, std::string name, LockOptions options)
    : state_(core::make<core::SharedMutexState>(client, {std::move(name)}, Form::read_write, all,
                                                std::move(options))) {}
SharedMutex::~SharedMutex() {
    core::destroy(state_);
}

void SharedMutex::lock() {
    state_->refuse_if_here();
    state_->guarded.lock(state_->lock, std::nullopt);
}
bool SharedMutex::try_lock() {
    return lock_within(std::chrono::nanoseconds::zero());
}
bool SharedMutex::lock_within(std::chrono::nanoseconds patience) {
    state_->refuse_if_here();
    return state_->guarded.lock(state_->lock, patience);
}
void SharedMutex::unlock() noexcept {
    state_->guarded.unlock(state_->lock);
}

void SharedMutex::lock_shared() {
    state_->refuse_if_here();
    state_->add_reader(state_->lock.acquire(one_share, {}));
}
bool SharedMutex::try_lock_shared() {
    return lock_shared_within(std::chrono::nanoseconds::zero());
}
bool SharedMutex::lock_shared_within(std::chrono::nanoseconds patience) {
    state_->refuse_if_here();
    const auto at_least_once = std::max(patience, std::chrono::nanoseconds::zero());
    auto attempt = state_->lock.try_acquire_for(one_share, at_least_once, {});
    if (!attempt) return false;
    state_->add_reader(*std::move(attempt));
    return true;
}
void SharedMutex::unlock_shared() noexcept {
    if (state_->lock.inherited()) return;
    // Given back outside the object's own lock.
    const auto hold = state_->take_reader();
}

const Hold& SharedMutex::hold() const noexcept {
    return state_->guarded.hold();
}
const Hold& SharedMutex::shared_hold() const noexcept {
    static const auto& none = *new Hold;
    const Hold* const reader = state_->reader_here();
    return reader != nullptr ? *reader : none;
}

Hold SharedMutex::acquire(std::stop_token stop) {
    state_->refuse_if_here();
    return state_->lock.acquire(all, std::move(stop));
}
Attempt SharedMutex::try_acquire() {
    return state_->lock.try_acquire(all);
}
Attempt SharedMutex::try_acquire_for(Wait patience, std::stop_token stop) {
    return state_->lock.try_acquire_for(all, patience.count(), std::move(stop));
}
void SharedMutex::async_acquire(OnAcquired done, std::stop_token stop) {
    state_->lock.async_acquire(all, std::nullopt, std::move(done), std::move(stop));
}
void SharedMutex::async_try_acquire_for(Wait patience, OnAcquired done, std::stop_token stop) {
    state_->lock.async_acquire(all, patience.count(), std::move(done), std::move(stop));
}
Hold SharedMutex::acquire_shared(std::stop_token stop) {
    state_->guarded.refuse_if_mine(state_->lock);
    return state_->lock.acquire(one_share, std::move(stop));
}
Attempt SharedMutex::try_acquire_shared() {
    return state_->lock.try_acquire(one_share);
}
Attempt SharedMutex::try_acquire_shared_for(Wait patience, std::stop_token stop) {
    return state_->lock.try_acquire_for(one_share, patience.count(), std::move(stop));
}
void SharedMutex::async_acquire_shared(OnAcquired done, std::stop_token stop) {
    state_->lock.async_acquire(one_share, std::nullopt, std::move(done), std::move(stop));
}
void SharedMutex::async_try_acquire_shared_for(Wait patience, OnAcquired done,
                                               std::stop_token stop) {
    state_->lock.async_acquire(one_share, patience.count(), std::move(done), std::move(stop));
}

const std::string& SharedMutex::name() const noexcept {
    return state_->lock.names().front();
}

}  // namespace holdfast::inline v0
