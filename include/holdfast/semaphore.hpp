#pragma once

#include <chrono>
#include <cstdint>
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
class SemaphoreState;
}

/// A resource with `capacity` permits, of which each hold takes one or more. All users of one name
/// must name the same capacity.
/// Threads: all members may be called from any thread; each acquisition is a contender of its own.
class HOLDFAST_EXPORT Semaphore {
public:
    /// As Client::semaphore().
    Semaphore(const Client& client, std::string name, std::uint32_t capacity,
              LockOptions options = {});
    Semaphore(const Semaphore&) = delete;
    Semaphore& operator=(const Semaphore&) = delete;
    ~Semaphore();

    [[nodiscard]] Hold acquire(std::uint32_t permits = 1, std::stop_token stop = {});
    Attempt try_acquire(std::uint32_t permits = 1);
    Attempt try_acquire_for(Wait patience, std::uint32_t permits = 1, std::stop_token stop = {});
    template <class ClockType, class Duration>
    Attempt try_acquire_until(const std::chrono::time_point<ClockType, Duration>& deadline,
                              std::uint32_t permits = 1, std::stop_token stop = {}) {
        return try_acquire_for(Wait::until(deadline), permits, std::move(stop));
    }
    void async_acquire(OnAcquired done, std::uint32_t permits = 1, std::stop_token stop = {});
    void async_try_acquire_for(Wait patience, OnAcquired done, std::uint32_t permits = 1,
                               std::stop_token stop = {});
    /// Gives a hold's permits back, as its destructor does, and says how that went.
    Released release(Hold hold) noexcept;

    std::uint32_t capacity() const noexcept;
    const std::string& name() const noexcept;

private:
    std::unique_ptr<core::SemaphoreState> state_;
};

}  // namespace holdfast::inline v0
