#include <holdfast/mutex.hpp>

#include "core/guarded.hpp"

namespace holdfast::inline v0 {

Mutex::Mutex(const Client& client, std::string name, LockOptions options)
    : state_(core::make<core::MutexState>(client, {std::move(name)}, Form::mutex, all,
                                          std::move(options))) {}
Mutex::~Mutex() {
    core::destroy(state_);
}

void Mutex::lock() {
    state_->guarded.lock(state_->lock, std::nullopt);
}
bool Mutex::try_lock() {
    return lock_within(std::chrono::nanoseconds::zero());
}
bool Mutex::lock_within(std::chrono::nanoseconds patience) {
    return state_->guarded.lock(state_->lock, patience);
}
void Mutex::unlock() noexcept {
    state_->guarded.unlock(state_->lock);
}
const Hold& Mutex::hold() const noexcept {
    return state_->guarded.hold();
}

Hold Mutex::acquire(std::stop_token stop) {
    state_->guarded.refuse_if_mine(state_->lock);
    return state_->lock.acquire(all, std::move(stop));
}
Attempt Mutex::try_acquire() {
    return state_->lock.try_acquire(all);
}
Attempt Mutex::try_acquire_for(Wait patience, std::stop_token stop) {
    return state_->lock.try_acquire_for(all, patience.count(), std::move(stop));
}
void Mutex::async_acquire(OnAcquired done, std::stop_token stop) {
    state_->lock.async_acquire(all, std::nullopt, std::move(done), std::move(stop));
}
void Mutex::async_try_acquire_for(Wait patience, OnAcquired done, std::stop_token stop) {
    state_->lock.async_acquire(all, patience.count(), std::move(done), std::move(stop));
}

const std::string& Mutex::name() const noexcept {
    return state_->lock.names().front();
}

}  // namespace holdfast::inline v0
