#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <holdfast/export.hpp>
#include <holdfast/hold.hpp>
#include <holdfast/options.hpp>
#include <holdfast/wait.hpp>

namespace holdfast::inline v0 {

class Client;

namespace core {
class RecursiveMutexState;
}

/// An exclusive lock that the thread which has it may lock again. It counts per thread, inside the
/// process: a re-entry costs no round trip. The thread that locked it must unlock it.
/// Threads: all members may be called from any thread.
class HOLDFAST_EXPORT RecursiveMutex {
public:
    /// As Client::recursive_mutex().
    RecursiveMutex(const Client& client, std::string name, LockOptions options = {});
    RecursiveMutex(const RecursiveMutex&) = delete;
    RecursiveMutex& operator=(const RecursiveMutex&) = delete;
    ~RecursiveMutex();

    /// Throws Error with errc::lost when this thread's hold behind it was lost meanwhile: entering
    /// again would be unguarded.
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
    /// The hold behind lock(). Only while it is locked.
    const Hold& hold() const noexcept;
    const std::string& name() const noexcept;

private:
    bool lock_within(std::chrono::nanoseconds patience);
    std::unique_ptr<core::RecursiveMutexState> state_;
};

}  // namespace holdfast::inline v0
