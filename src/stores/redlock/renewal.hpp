#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "port/contender.hpp"
#include "port/pending.hpp"

namespace holdfast::inline v0::redlock {

/// A renewal of many, each of whom the nodes are asked for by itself. One of whom too few have
/// answered costs the others nothing: it stands where it stood, and is trusted no longer for that.
class Renewal {
public:
    Renewal(Wire& wire, std::size_t count) : flight(wire), standings_(count), due_(count) {}

    /// How it stood until now: for one that is not heard of.
    void stood(std::size_t which, const Standing& standing) {
        const std::lock_guard guard(mutex_);
        standings_[which] = standing;
        standings_[which].counted_from = Moment{};
    }
    void take(std::size_t which, const Result<Standing>& result) {
        std::unique_lock lock(mutex_);
        if (result.ok()) {
            standings_[which] = result.value();
            is_any_heard_of_ = true;
        } else {
            failure_ = result.failure();
        }
        if (--due_ > 0) return;
        Result<std::vector<Standing>> outcome = std::move(standings_);
        if (!is_any_heard_of_) outcome = *failure_;
        lock.unlock();
        flight.complete(std::move(outcome));
    }

    Flight<std::vector<Standing>> flight;

private:
    std::mutex mutex_;
    std::vector<Standing> standings_;
    std::size_t due_;
    bool is_any_heard_of_ = false;
    std::optional<Failure> failure_;
};

}  // namespace holdfast::inline v0::redlock
