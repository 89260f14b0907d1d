#include "core/guarded.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::inline v0::core {

void Guarded::refuse_if_mine(const Lock& lock) const {
    if (!lock.inherited() && mine()) lock.refuse_second_lock();
}

bool Guarded::lock(const Lock& lock, std::optional<std::chrono::nanoseconds> patience) {
    // A child must not touch a mutex that another thread of the parent may have held.
    if (lock.inherited()) static_cast<void>(lock.try_acquire(lock.capacity()));
    refuse_if_mine(lock);
    const Moment started = BootClock::now();
    if (!gate_.enter(patience)) return false;
    try {
        if (!patience) {
            hold_ = lock.acquire(lock.capacity(), {});
        } else {
            const auto left = std::max(*patience - (BootClock::now() - started),
                                       std::chrono::nanoseconds::zero());
            if (auto attempt = lock.try_acquire_for(lock.capacity(), left, {})) {
                hold_ = *std::move(attempt);
            }
        }
    } catch (...) {
        gate_.leave();
        throw;
    }
    if (!hold_) gate_.leave();
    return hold_.has_value();
}

void Guarded::unlock(const Lock& lock) noexcept {
    if (lock.inherited()) return;
    hold_.reset();
    gate_.leave();
}

bool RecursiveMutexState::reenter() {
    if (lock.inherited() || !guarded.mine()) return false;
    if (!guarded.hold().held()) {
        throw Error(errc::lost, lock.names().front() + ": the hold behind it (fence " +
                                    std::to_string(guarded.hold().fence()) +
                                    ") was lost; unlock, and stop what it guarded");
    }
    ++depth;
    return true;
}

void SharedMutexState::refuse_if_here() {
    if (lock.inherited()) return;
    guarded.refuse_if_mine(lock);
    const std::lock_guard guard(mutex);
    if (readers.contains(number_of_this_thread())) lock.refuse_second_lock();
}

void SharedMutexState::add_reader(Hold hold) {
    const std::lock_guard guard(mutex);
    readers.emplace(number_of_this_thread(), std::move(hold));
}

const Hold* SharedMutexState::reader_here() {
    if (lock.inherited()) return nullptr;
    const std::lock_guard guard(mutex);
    const auto reader = readers.find(number_of_this_thread());
    return reader == readers.end() ? nullptr : &reader->second;
}

std::optional<Hold> SharedMutexState::take_reader() {
    const std::lock_guard guard(mutex);
    auto reader = readers.find(number_of_this_thread());
    if (reader == readers.end()) reader = readers.begin();
    if (reader == readers.end()) return std::nullopt;
    std::optional<Hold> hold(std::move(reader->second));
    readers.erase(reader);
    return hold;
}

}  // namespace holdfast::inline v0::core
