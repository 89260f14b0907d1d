#pragma once

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <holdfast/hold.hpp>
#include <holdfast/multi_lock.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>
#include <holdfast/wait.hpp>

/// Locks for coroutines of whatever kind, without a library. Not in holdfast.hpp; for programs on
/// asio there is holdfast/asio.hpp.
///
///     holdfast::Hold hold = co_await holdfast::acquiring(orders);
///     ...
///     co_await holdfast::releasing(std::move(hold));
///
/// The coroutine goes on on the client's callback thread, where it must not block and nothing waits
/// for a store: let it go from there to its own executor if it has more to do. Each throws what the
/// lock's own function throws, from co_await. A coroutine that is suspended in one is not to be
/// destroyed before it goes on: stop its wait by the stop_token instead.
namespace holdfast::inline v0 {

/// An acquisition, to be awaited once. `Start` begins it with the function that is to be called.
template <class Result, class Start>
class [[nodiscard]] Acquiring {
public:
    explicit Acquiring(Start start) : start_(std::move(start)) {}

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
        // The coroutine, and this with it, may be gone before that returns.
        const auto start = std::move(start_);
        start([this, waiting](std::exception_ptr failure, Attempt attempt) {
            failure_ = std::move(failure);
            attempt_ = std::move(attempt);
            waiting.resume();
        });
    }
    Result await_resume() {
        if (failure_) std::rethrow_exception(std::move(failure_));
        if constexpr (std::is_same_v<Result, Hold>) {
            return *std::move(attempt_);
        } else {
            return std::move(attempt_);
        }
    }

private:
    Start start_;
    std::exception_ptr failure_;
    Attempt attempt_;
};

/// A release, to be awaited once.
class [[nodiscard]] Releasing {
public:
    explicit Releasing(Hold hold) : hold_(std::move(hold)) {}

    /// One that holds nothing is given back already.
    bool await_ready() const noexcept { return hold_.name().empty(); }
    void await_suspend(std::coroutine_handle<> waiting) {
        Hold hold = std::move(hold_);
        hold.async_release([this, waiting](Released how) {
            how_ = how;
            waiting.resume();
        });
    }
    Released await_resume() const noexcept { return how_; }

private:
    Hold hold_;
    Released how_ = Released::unknown;
};

inline Releasing releasing(Hold hold) {
    return Releasing(std::move(hold));
}

template <class T>
concept ExclusiveLock =
    std::same_as<T, Mutex> || std::same_as<T, SharedMutex> || std::same_as<T, MultiLock>;

/// Of a Mutex, a SharedMutex (exclusively) or a MultiLock.
template <ExclusiveLock Lock>
auto acquiring(Lock& lock, std::stop_token stop = {}) {
    auto start = [&lock, stop = std::move(stop)](OnAcquired done) {
        lock.async_acquire(std::move(done), stop);
    };
    return Acquiring<Hold, decltype(start)>(std::move(start));
}
inline auto acquiring(Semaphore& semaphore, std::uint32_t permits = 1, std::stop_token stop = {}) {
    auto start = [&semaphore, permits, stop = std::move(stop)](OnAcquired done) {
        semaphore.async_acquire(std::move(done), permits, stop);
    };
    return Acquiring<Hold, decltype(start)>(std::move(start));
}
inline auto acquiring_shared(SharedMutex& lock, std::stop_token stop = {}) {
    auto start = [&lock, stop = std::move(stop)](OnAcquired done) {
        lock.async_acquire_shared(std::move(done), stop);
    };
    return Acquiring<Hold, decltype(start)>(std::move(start));
}

/// The same within a time: an empty Attempt when it is busy for that long.
template <ExclusiveLock Lock>
auto acquiring_within(Lock& lock, Wait patience, std::stop_token stop = {}) {
    auto start = [&lock, patience, stop = std::move(stop)](OnAcquired done) {
        lock.async_try_acquire_for(patience, std::move(done), stop);
    };
    return Acquiring<Attempt, decltype(start)>(std::move(start));
}
inline auto acquiring_within(Semaphore& semaphore, Wait patience, std::uint32_t permits = 1,
                             std::stop_token stop = {}) {
    auto start = [&semaphore, patience, permits, stop = std::move(stop)](OnAcquired done) {
        semaphore.async_try_acquire_for(patience, std::move(done), permits, stop);
    };
    return Acquiring<Attempt, decltype(start)>(std::move(start));
}
inline auto acquiring_shared_within(SharedMutex& lock, Wait patience, std::stop_token stop = {}) {
    auto start = [&lock, patience, stop = std::move(stop)](OnAcquired done) {
        lock.async_try_acquire_shared_for(patience, std::move(done), stop);
    };
    return Acquiring<Attempt, decltype(start)>(std::move(start));
}

}  // namespace holdfast::inline v0
