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
class MutexState;
}

/// The exclusive lock of one resource. TimedLockable, so it serves std::unique_lock,
/// std::scoped_lock and std::condition_variable_any.
/// Threads: all members may be called from any thread. Threads that share one Mutex queue for
/// `lock()` on the object first, until its `unlock()`, also after a loss; then in the store.
/// std::scoped_lock over two objects of one resource never returns: use MultiLock.
class HOLDFAST_EXPORT Mutex {
public:
    /// As Client::mutex().
    Mutex(const Client& client, std::string name, LockOptions options = {});
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;
    ~Mutex();

    /// Throws Error: errc::deadlock when this thread has locked it already, or what the store says.
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
    /// Any thread may unlock. Never throws: what cannot be told to the store now is taken out in
    /// the background.
    void unlock() noexcept;
    /// The hold behind lock(). Only while it is locked.
    const Hold& hold() const noexcept;

    /// Each call is a contender of its own. Throws Error with errc::cancelled when `stop` ends the
    /// wait; one that is stopped already takes nothing, also what is free. A contender that loses
    /// its place while it waits (its store was not heard of, somebody removed it) joins the line
    /// again at its end.
    [[nodiscard]] Hold acquire(std::stop_token stop = {});
    /// Empty when busy.
    Attempt try_acquire();
    /// Empty when busy for that long, or stopped. A store that cannot be reached is tried for as
    /// long, too, and an Error then. A negative patience is an error.
    Attempt try_acquire_for(Wait patience, std::stop_token stop = {});
    template <class ClockType, class Duration>
    Attempt try_acquire_until(const std::chrono::time_point<ClockType, Duration>& deadline,
                              std::stop_token stop = {}) {
        return try_acquire_for(Wait::until(deadline), std::move(stop));
    }
    /// Waits without a thread. `done` is always called, once, on the client's callback thread.
    void async_acquire(OnAcquired done, std::stop_token stop = {});
    void async_try_acquire_for(Wait patience, OnAcquired done, std::stop_token stop = {});

    const std::string& name() const noexcept;

private:
    bool lock_within(std::chrono::nanoseconds patience);
    std::unique_ptr<core::MutexState> state_;
};

}  // namespace holdfast::inline v0
