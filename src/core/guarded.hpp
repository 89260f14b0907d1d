#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/client.hpp>

#include "core/gate.hpp"
#include "core/lock.hpp"

namespace holdfast::inline v0::core {

/// What stands behind a lock of that client.
template <class State>
std::unique_ptr<State> make(const Client& client, std::vector<std::string> names, Form form,
                            std::uint64_t capacity, LockOptions options) {
    return std::unique_ptr<State>(new State{
        .lock = Lock(Context::of(client), std::move(names), form, capacity, std::move(options))});
}

/// The exclusive hold behind a lock object's `lock()` and `unlock()`, and the gate before it.
class Guarded {
public:
    /// False when `patience` ran out first; less than nothing means: try once.
    bool lock(const Lock& lock, std::optional<std::chrono::nanoseconds> patience);
    void unlock(const Lock& lock) noexcept;
    const Hold& hold() const noexcept { return *hold_; }

    bool mine() const { return gate_.mine(); }
    void refuse_if_mine(const Lock& lock) const;

private:
    Gate gate_;
    std::optional<Hold> hold_;
};

class MutexState {
public:
    Lock lock;
    Guarded guarded{};
};

class RecursiveMutexState {
public:
    Lock lock;
    Guarded guarded{};
    std::size_t depth = 0;  ///< only the locking thread touches it

    /// One level deeper when this thread has it; throws Error when that hold was lost.
    bool reenter();
};

class SemaphoreState {
public:
    Lock lock;
};

class MultiLockState {
public:
    Lock lock;
};

/// The shared holds are told apart by the thread that took them.
class SharedMutexState {
public:
    Lock lock;
    Guarded guarded{};
    std::mutex mutex{};
    std::multimap<std::uint64_t, Hold> readers{};  ///< by the number of the thread

    /// Throws Error when this thread has locked it, in whichever way: it would wait for itself.
    void refuse_if_here();
    void add_reader(Hold hold);
    std::optional<Hold> take_reader();
    /// Null when this thread has none.
    const Hold* reader_here();
};

}  // namespace holdfast::inline v0::core
