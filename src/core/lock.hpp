#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <holdfast/hold.hpp>
#include <holdfast/options.hpp>

#include "core/context.hpp"
#include "core/pursuit.hpp"

namespace holdfast::inline v0::core {

/// Throws Error for a name that no resource can have.
void check_name(const std::string& name);

/// Resources, how they are shared and by whom: what Mutex, SharedMutex, Semaphore and MultiLock
/// have in common. Everything that can be wrong with them is refused here.
class Lock {
public:
    /// Throws Error.
    Lock(std::shared_ptr<Context> context, std::vector<std::string> names, Form form,
         std::uint64_t capacity, LockOptions options);

    Hold acquire(std::uint64_t weight, std::stop_token stop) const;
    Attempt try_acquire(std::uint64_t weight) const;
    Attempt try_acquire_for(std::uint64_t weight, std::chrono::nanoseconds patience,
                            std::stop_token stop) const;
    /// Acquires without blocking; without a patience it waits without a limit.
    void async_acquire(std::uint64_t weight, std::optional<std::chrono::nanoseconds> patience,
                       OnAcquired done, std::stop_token stop) const;

    const std::vector<std::string>& names() const noexcept { return *names_; }
    std::uint64_t capacity() const noexcept { return capacity_; }
    bool inherited() const noexcept { return context_->inherited(); }
    [[noreturn]] void refuse_second_lock() const;

private:
    Request request(std::uint64_t weight, Patience patience) const;
    void check_weight(std::uint64_t weight) const;
    void check_patience(std::chrono::nanoseconds patience) const;

    std::shared_ptr<Context> context_;
    std::shared_ptr<const std::vector<std::string>> names_;  ///< sorted, each once
    Form form_;
    std::uint64_t capacity_;
    LockOptions options_;
    std::chrono::milliseconds lease_{0};
    std::chrono::milliseconds shared_lease_{0};  ///< of a reader
};

/// What stands behind a public lock object is leaked in a forked child, untouched.
template <class State>
void destroy(std::unique_ptr<State>& state) {
    if (state && state->lock.inherited()) static_cast<void>(state.release());
}

}  // namespace holdfast::inline v0::core
