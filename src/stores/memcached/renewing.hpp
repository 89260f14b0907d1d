#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "port/pending.hpp"
#include "port/store.hpp"
#include "port/unanswered.hpp"
#include "stores/memcached/request.hpp"

/// Answers of several servers that are awaited together. Those of two turns of a wire may be told
/// at the same time, on two threads.
namespace holdfast::inline v0::memcached {

/// A renewal of many tickets. One server that does not answer costs the holds on the others
/// nothing: what is on it is answered with what was known, and trusted no longer for that.
class Renewing {
public:
    Renewing(Wire& wire, std::size_t count, std::chrono::milliseconds length)
        : flight(wire), lease(length), standings_(count) {}

    /// What is known without asking.
    void know(std::size_t which, const Standing& standing) {
        const std::lock_guard guard(mutex_);
        standings_[which] = standing;
        any_known_ = true;
    }
    /// It is about to be asked for.
    void ask(std::size_t which) {
        const std::lock_guard guard(mutex_);
        standings_[which] = unanswered();
        ++due_;
    }
    /// Nothing more is asked for. The outcome, if all is here.
    std::optional<Result<std::vector<Standing>>> asked_all() {
        const std::lock_guard guard(mutex_);
        if (--due_ > 0) return std::nullopt;
        return outcome();
    }
    /// Needs no memory: whoever waits must not do so for ever.
    void take(std::size_t which, Result<Standing> result) {
        std::unique_lock lock(mutex_);
        if (result.ok()) {
            standings_[which] = std::move(result.value());
            any_known_ = true;
        } else {
            failure_ = std::move(result).failure();
        }
        if (--due_ > 0) return;
        auto outcome = this->outcome();
        lock.unlock();
        flight.complete(std::move(outcome));
    }

    /// So that a silent server does not keep the answers of the others from those who have a short
    /// lease.
    Moment until() const { return began_ + std::max(lease / 3, std::chrono::milliseconds{100}); }

    Flight<std::vector<Standing>> flight;
    const std::chrono::milliseconds lease;

private:
    Result<std::vector<Standing>> outcome() {
        if (failure_ && !any_known_) return *std::move(failure_);
        return std::move(standings_);
    }

    const Moment began_ = BootClock::now();
    std::mutex mutex_;
    std::vector<Standing> standings_;
    std::size_t due_ = 1;  ///< the end of the asking is one of them
    bool any_known_ = false;
    std::optional<Failure> failure_;
};

/// The first question to all servers. One that is away keeps nobody from the others.
class Greeting {
public:
    Greeting(Wire& wire, std::size_t servers) : flight(wire), due_(servers) {}

    void take(const Answer& answer) {
        std::unique_lock lock(mutex_);
        if (answer.result.ok()) {
            any_answered_ = true;
        } else if (!failure_ || answer.result.failure().code == errc::bad_configuration) {
            failure_ = answer.result.failure();
        }
        if (--due_ > 0) return;
        const bool hopeless = failure_ && failure_->code == errc::bad_configuration;
        Result<bool> outcome = true;
        if (failure_ && (hopeless || !any_answered_)) outcome = *failure_;
        lock.unlock();
        flight.complete(std::move(outcome));
    }

    Flight<bool> flight;

private:
    std::mutex mutex_;
    std::size_t due_;
    bool any_answered_ = false;
    std::optional<Failure> failure_;
};

}  // namespace holdfast::inline v0::memcached
