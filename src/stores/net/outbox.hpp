#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "port/clock.hpp"
#include "port/failure.hpp"
#include "port/sentences.hpp"
#include "stores/net/errand.hpp"

namespace holdfast::inline v0::net {

/// What is wrong with the configuration will not be right in a moment.
inline bool is_lasting(const Failure& failure) noexcept {
    return failure.code == errc::bad_configuration;
}

/// Requests that wait for a connection, in the order in which they will be sent: that in which they
/// were submitted, also of those that are sent again, for who enters one resource after the other
/// stands in line like that. Each is an Errand. No I/O, and time is an input.
template <class Request>
class Outbox {
public:
    using Requests = std::deque<std::unique_ptr<Request>>;
    using GivenUps = std::vector<GivenUp<Request>>;

    /// For what is told: the store as the user knows it, and how long a request is tried.
    Outbox(std::string store, std::chrono::milliseconds limit)
        : store_(std::move(store)), limit_(limit) {}

    // A request for which there is no memory stays with the caller.

    void submit(std::unique_ptr<Request>&& request) {
        request->number = ++submitted_;
        waiting_.push_back(std::move(request));
    }
    /// Before those that were submitted later.
    void send_again(std::unique_ptr<Request>&& request) {
        const auto later = std::ranges::upper_bound(
            waiting_, request->number, {}, [](const auto& waiting) { return waiting->number; });
        *waiting_.emplace(later) = std::move(request);
    }

    const Requests& waiting() const noexcept { return waiting_; }
    /// Those for which `go_first(request)` stand before all others. They are to go out next, all of
    /// them: then the others are in order still.
    template <class GoFirst>
    void put_first(GoFirst go_first) {
        std::stable_partition(waiting_.begin(), waiting_.end(),
                              [&](const auto& request) { return go_first(*request); });
    }
    /// It is under way from now on.
    std::unique_ptr<Request> take(typename Requests::const_iterator place, Moment now) {
        std::unique_ptr<Request> request;
        give_away(place, [&](std::unique_ptr<Request>&& taken) { request = std::move(taken); });
        request->goes_out(now);
        return request;
    }
    /// It waits elsewhere from now on: `take(request)` has it, or throws.
    template <class Take>
    void give_away(typename Requests::const_iterator place, Take take) {
        const auto given = waiting_.begin() + (place - waiting_.cbegin());
        take(std::move(*given));
        waiting_.erase(given);
    }

    /// Nothing is sent meanwhile: a server that has no time just now is left alone.
    void hold_back(Moment until) noexcept { held_back_until_ = until; }
    bool is_held_back() const noexcept { return held_back_until_ != Moment{}; }
    /// No longer held back, if that is over.
    void go_on(Moment now) noexcept {
        if (now >= held_back_until_) held_back_until_ = {};
    }

    /// Nothing is known against connections any more.
    void connected() noexcept { no_connection_.reset(); }
    /// There is no connection. Whoever is given up meanwhile is told why; where that lasts, at
    /// once.
    GivenUps attempt_failed(Failure failure) {
        no_connection_ = std::move(failure);
        return is_lasting(*no_connection_) ? give_up_all(*no_connection_) : GivenUps{};
    }

    GivenUps give_up_all(const Failure& why) {
        return give_up([](const Request&) { return true; },
                       [&](const Request&) -> const Failure& { return why; });
    }
    /// Those for which `is_over(request)`, because of `why(request)`.
    template <class IsOver, class Why>
    GivenUps give_up(IsOver is_over, Why why) {
        // What needs memory comes first.
        GivenUps given_up;
        for (const auto& request : waiting_) {
            if (is_over(*request)) given_up.push_back({nullptr, request->given_up(why(*request))});
        }
        if (given_up.empty()) return given_up;
        auto next = given_up.begin();
        for (auto& request : waiting_) {
            if (is_over(*request)) (next++)->request = std::move(request);
        }
        std::erase(waiting_, nullptr);
        return given_up;
    }
    /// Those whose time is up: because there is no connection, or for what they met last or, when
    /// they met nothing, for their time.
    GivenUps expire(Moment now) {
        return give_up([&](const Request& request) { return request.is_overdue(now); },
                       [&](const Request& request) {
                           if (no_connection_) return *no_connection_;
                           return request.trouble ? *request.trouble : out_of_time();
                       });
    }
    Failure out_of_time() const { return timed_out(store_, limit_); }

    /// When something of this is due by itself; never: Moment::max().
    Moment earliest() const {
        const Moment first = earliest_deadline(waiting_);
        return is_held_back() && !waiting_.empty() ? std::min(first, held_back_until_) : first;
    }

protected:
    /// Not always that of the first: what is sent again keeps its own.
    static Moment earliest_deadline(const Requests& requests) {
        Moment first = Moment::max();
        for (const auto& request : requests) first = std::min(first, request->deadline);
        return first;
    }
    const std::string& store() const noexcept { return store_; }

    Requests waiting_;

private:
    const std::string store_;
    const std::chrono::milliseconds limit_;
    std::uint64_t submitted_ = 0;
    Moment held_back_until_{};
    std::optional<Failure> no_connection_;  ///< why, when one was sought last
};

}  // namespace holdfast::inline v0::net
