#include <holdfast/recursive_mutex.hpp>

#include "core/guarded.hpp"

namespace holdfast::inline v0 {

RecursiveMutex::RecursiveMutex(const Client& client, std::string name, LockOptions options)
    : state_(core::make<core::RecursiveMutexState>(client, {std::move(name)}, Form::mutex, all,
                                                   std::move(options))) {}
RecursiveMutex::~RecursiveMutex() {
    core::destroy(state_);
}

void RecursiveMutex::lock() {
    if (!state_->reenter()) {
        state_->guarded.lock(state_->lock, std::nullopt);
        state_->depth = 1;
    }
}

bool RecursiveMutex::try_lock() {
    return lock_within(std::chrono::nanoseconds::zero());
}

bool RecursiveMutex::lock_within(std::chrono::nanoseconds patience) {
    if (state_->reenter()) return true;
    if (!state_->guarded.lock(state_->lock, patience)) return false;
    state_->depth = 1;
    return true;
}

void RecursiveMutex::unlock() noexcept {
    if (state_->lock.inherited() || --state_->depth > 0) return;
    state_->guarded.unlock(state_->lock);
}

const Hold& RecursiveMutex::hold() const noexcept {
    return state_->guarded.hold();
}
const std::string& RecursiveMutex::name() const noexcept {
    return state_->lock.names().front();
}

}  // namespace holdfast::inline v0
