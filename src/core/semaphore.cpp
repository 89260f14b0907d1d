#include <holdfast/semaphore.hpp>

#include "core/guarded.hpp"

namespace holdfast::inline v0 {

Semaphore::Semaphore(const Client& client, std::string name, std::uint32_t capacity,
                     LockOptions options)
    : state_(core::make<core::SemaphoreState>(client, {std::move(name)}, Form::permits, capacity,
                                              std::move(options))) {}
Semaphore::~Semaphore() {
    core::destroy(state_);
}

Hold Semaphore::acquire(std::uint32_t permits, std::stop_token stop) {
    return state_->lock.acquire(permits, std::move(stop));
}
Attempt Semaphore::try_acquire(std::uint32_t permits) {
    return state_->lock.try_acquire(permits);
}
Attempt Semaphore::try_acquire_for(Wait patience, std::uint32_t permits, std::stop_token stop) {
    return state_->lock.try_acquire_for(permits, patience.count(), std::move(stop));
}
void Semaphore::async_acquire(OnAcquired done, std::uint32_t permits, std::stop_token stop) {
    state_->lock.async_acquire(permits, std::nullopt, std::move(done), std::move(stop));
}
void Semaphore::async_try_acquire_for(Wait patience, OnAcquired done, std::uint32_t permits,
                                      std::stop_token stop) {
    state_->lock.async_acquire(permits, patience.count(), std::move(done), std::move(stop));
}
Released Semaphore::release(Hold hold) noexcept {
    return hold.release();
}

std::uint32_t Semaphore::capacity() const noexcept {
    return static_cast<std::uint32_t>(state_->lock.capacity());
}
const std::string& Semaphore::name() const noexcept {
    return state_->lock.names().front();
}

}  // namespace holdfast::inline v0
