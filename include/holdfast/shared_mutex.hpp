#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <holdfast/export.hpp>
#include <holdfast/hold.hpp>
#include <holdfast/options.hpp>
#include <holdfast/wait.hpp>

namespace holdfast::inline v0 {

class Client;

namespace core {
class SharedMutexState;
}

/// A read-write lock of one resource: many shared holds, or one exclusive. With fifo a reader that
/// arrives after a waiting writer queues behind it. Serves std::unique_lock and std::shared_lock.
/// Threads: all members may be called from any thread. `lock()` queues on the object first;
/// every `lock_shared()` is a contender of its own, and `unlock_shared()` gives back that of the
/// calling thread if it has one.
class HOLDFAST_EXPORT SharedMutex {
public:
    /// As Client::shared_mutex().
    SharedMutex(const Client& client, std::string name, LockOptions options = {});
    SharedMutex(const SharedMutex&) = delete;
    SharedMutex& operator=(const SharedMutex&) = delete;
    ~SharedMutex();

    /// Throws Error: errc::deadlock when this thread has locked it already, in whichever way.
    void lock();
    bool try_lock();
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
        return lock_within(Wait(wait).count());
    }
    template <class ClockType, class Duration>
    bool try_lock_until(const std::chrono::time_point<ClockType, Duration>& deadline) {
        return lock_within(Wait::until(deadline).count());
    }
    void unlock() noexcept;

    void lock_shared();
    bool try_lock_shared();
    template <class Rep, class Period>
    bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& wait) {
        return lock_shared_within(Wait(wait).count());
    }
    template <class ClockType, class Duration>
    bool try_lock_shared_until(const std::chrono::time_point<ClockType, Duration>& deadline) {
        return lock_shared_within(Wait::until(deadline).count());
    }
    void unlock_shared() noexcept;

    /// The exclusive hold behind lock(). Only while it is locked.
    const Hold& hold() const noexcept;
    /// The hold behind this thread's lock_shared(), until its unlock_shared(). One that holds
    /// nothing when this thread has none.
    const Hold& shared_hold() const noexcept;

    /// As in Mutex: each call is a contender of its own.
    [[nodiscard]] Hold acquire(std::stop_token stop = {});
    Attempt try_acquire();
    Attempt try_acquire_for(Wait patience, std::stop_token stop = {});
    template <class ClockType, class Duration>
    Attempt try_acquire_until(const std::chrono::time_point<ClockType, Duration>& deadline,
                              std::stop_token stop = {}) {
        return try_acquire_for(Wait::until(deadline), std::move(stop));
    }
    void async_acquire(OnAcquired done, std::stop_token stop = {});
    void async_try_acquire_for(Wait patience, OnAcquired done, std::stop_token stop = {});
    [[nodiscard]] Hold acquire_shared(std::stop_token stop = {});
    Attempt try_acquire_shared();
    Attempt try_acquire_shared_for(Wait patience, std::stop_token stop = {});
    template <class ClockType, class Duration>
    Attempt try_acquire_shared_until(const std::chrono::time_point<ClockType, Duration>& deadline,
                                     std::stop_token stop = {}) {
        return try_acquire_shared_for(Wait::until(deadline), std::move(stop));
    }
    void async_acquire_shared(OnAcquired done, std::stop_token stop = {});
    void async_try_acquire_shared_for(Wait patience, OnAcquired done, std::stop_token stop = {});

    const std::string& name() const noexcept;

private:
    bool lock_within(std::chrono::nanoseconds patience);
    bool lock_shared_within(std::chrono::nanoseconds patience);
    std::unique_ptr<core::SharedMutexState> state_;
};

}  // namespace holdfast::inline v0
