#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/export.hpp>
#include <holdfast/hold.hpp>
#include <holdfast/options.hpp>
#include <holdfast/wait.hpp>

namespace holdfast::inline v0 {

class Client;

namespace core {
class MultiLockState;
}

/// Several resources, exclusively, all or none. They are taken in the order of their names, so
/// users of overlapping sets never wait for each other in a circle; a name given twice counts once.
/// Threads: all members may be called from any thread; each acquisition is a contender of its own.
class HOLDFAST_EXPORT MultiLock {
public:
    /// As Client::multi_lock().
    MultiLock(const Client& client, std::vector<std::string> names, LockOptions options = {});
    MultiLock(const MultiLock&) = delete;
    MultiLock& operator=(const MultiLock&) = delete;
    ~MultiLock();

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
    /// Gives all of a hold back, as its destructor does, and says how that went.
    Released release(Hold hold) noexcept;

    /// Sorted, each once; Hold::fences() has this order.
    const std::vector<std::string>& names() const noexcept;

private:
    std::unique_ptr<core::MultiLockState> state_;
};

}  // namespace holdfast::inline v0
