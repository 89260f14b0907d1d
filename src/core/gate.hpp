#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

namespace holdfast::inline v0::core {

/// Tells this thread from all others that there are or were: a std::thread::id is given again.
/// Never 0.
std::uint64_t number_of_this_thread() noexcept;

/// Where threads that share one lock object queue before they ask the store, in order: one
/// contender of a process is enough, and a hand-over inside it needs no store.
class Gate {
public:
    /// False when `patience` ran out first.
    bool enter(std::optional<std::chrono::nanoseconds> patience);
    /// Lets the next one through. May be called by any thread.
    void leave();
    /// Whether this thread went through and nobody has left since.
    bool mine() const;

private:
    struct Waiting {
        std::condition_variable called;
        bool admitted = false;
    };
    bool wait_turn(std::unique_lock<std::mutex>& lock,
                   std::optional<std::chrono::nanoseconds> patience);

    mutable std::mutex mutex_;
    bool closed_ = false;
    std::uint64_t owner_ = 0;  ///< the number of a thread
    std::deque<Waiting*> line_;
};

}  // namespace holdfast::inline v0::core
