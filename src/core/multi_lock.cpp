#include <holdfast/multi_lock.hpp>

#include "core/guarded.hpp"

namespace holdfast::inline v0 {

MultiLock::MultiLock(const Client& client, std::vector<std::string> names, LockOptions options)
    : state_(core::make<core::MultiLockState>(client, std::move(names), Form::mutex, all,
                                              std::move(options))) {}
MultiLock::~MultiLock() {
    core::destroy(state_);
}

Hold MultiLock::acquire(std::stop_token stop) {
    return state_->lock.acquire(all, std::move(stop));
}
Attempt MultiLock::try_acquire() {
    return state_->lock.try_acquire(all);
}
Attempt MultiLock::try_acquire_for(Wait patience, std::stop_token stop) {
    return state_->lock.try_acquire_for(all, patience.count(), std::move(stop));
}
void MultiLock::async_acquire(OnAcquired done, std::stop_token stop) {
    state_->lock.async_acquire(all, std::nullopt, std::move(done), std::move(stop));
}
void MultiLock::async_try_acquire_for(Wait patience, OnAcquired done, std::stop_token stop) {
    state_->lock.async_acquire(all, patience.count(), std::move(done), std::move(stop));
}
Released MultiLock::release(Hold hold) noexcept {
    return hold.release();
}

const std::vector<std::string>& MultiLock::names() const noexcept {
    return state_->lock.names();
}

}  // namespace holdfast::inline v0
