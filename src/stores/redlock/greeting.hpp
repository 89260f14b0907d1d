#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "port/pending.hpp"
#include "stores/net/outbox.hpp"
#include "stores/redlock/desk.hpp"

namespace holdfast::inline v0::redlock {

/// The first question to all nodes: whether a majority of them can be reached, and entered.
/// Callbacks of several turns may run at the same time.
class Greeting : public std::enable_shared_from_this<Greeting> {
public:
    explicit Greeting(Desk desk) : desk_(std::move(desk)), flight_(desk_.wire) {}

    /// True, or why not.
    Pending<bool> begin() {
        for (std::size_t i = 0; i < desk_.terms().nodes; ++i) {
            desk_.wire.submit(
                i, {"ECHO", "holdfast"},
                [self = shared_from_this()](const redis::Answer& answer) { self->take(answer); },
                desk_.wire.until());
        }
        return Pending<bool>({shared_from_this(), &flight_});
    }

private:
    void take(const redis::Answer& answer) {
        std::unique_lock lock(mutex_);
        ++(answer.result.ok() ? answered_ : failed_);
        if (!answer.result.ok()) note(answer.result.failure());
        const bool is_enough = answered_ >= desk_.terms().majority();
        const bool is_hopeless = desk_.terms().nodes - failed_ < desk_.terms().majority();
        if (is_over_ || (!is_enough && !is_hopeless)) return;
        is_over_ = true;
        Result<bool> outcome = true;
        if (is_hopeless) outcome = why();
        lock.unlock();
        flight_.complete(std::move(outcome));
    }
    /// What waiting does not mend says more than what it may.
    void note(const Failure& failure) {
        if (!failure_ || net::is_lasting(failure)) failure_ = failure;
    }
    Failure why() const {
        return {failure_->code, Effect::none,
                desk_.description + ": " + std::to_string(failed_) + " of " +
                    std::to_string(desk_.terms().nodes) + " nodes cannot be had; " +
                    failure_->sentence};
    }

    const Desk desk_;
    Flight<bool> flight_;
    std::mutex mutex_;
    std::size_t answered_ = 0;
    std::size_t failed_ = 0;
    bool is_over_ = false;
    std::optional<Failure> failure_;
};

}  // namespace holdfast::inline v0::redlock
