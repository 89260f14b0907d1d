#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>

#include "stores/net/outbox.hpp"

namespace holdfast::inline v0::net {

/// Requests that share one connection to a server after the other, which answers them in the order
/// in which they were sent. A wire connects, encodes and decodes; what was sent, what is sent again
/// and what that makes of its effect is known here. No I/O, and time is an input.
template <class Request>
class Conversation : public Outbox<Request> {
    using Base = Outbox<Request>;
    using Base::waiting_;

public:
    using Base::Base;
    using typename Base::GivenUps;
    using typename Base::Requests;

    /// Goes out before all that waits, on this connection alone. One that was to, and has not yet,
    /// is forgotten.
    void begin_with(std::unique_ptr<Request> request) {
        std::erase_if(waiting_, is_forgotten);
        request->when_lost = WhenLost::forget;
        waiting_.push_front(std::move(request));
    }

    /// Everything that waited is under way from now on.
    void all_sent(Moment now) { first_sent(waiting_.size(), now); }
    /// So many of the first are.
    void first_sent(std::size_t count, Moment now) {
        const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
        for (auto request = waiting_.begin(); request != end; ++request) (*request)->goes_out(now);
        in_flight_.insert(in_flight_.end(), std::make_move_iterator(waiting_.begin()),
                          std::make_move_iterator(end));
        waiting_.erase(waiting_.begin(), end);
    }
    /// In the order in which they will be answered.
    const Requests& in_flight() const noexcept { return in_flight_; }
    bool is_idle() const noexcept { return waiting_.empty() && in_flight_.empty(); }
    /// The first of those in flight, of which there is one.
    std::unique_ptr<Request> answered() {
        auto request = std::move(in_flight_.front());
        in_flight_.pop_front();
        return request;
    }
    /// That one was answered, and goes out again all the same.
    void send_answered_again() {
        Base::send_again(std::move(in_flight_.front()));
        in_flight_.pop_front();
    }

    /// Whether the connection is to be closed, and lost() called. Answers come in order: without
    /// that of an overdue one there will be none of the others either.
    bool is_overdue(Moment now) const { return now >= Base::earliest_deadline(in_flight_); }
    /// The connection broke. What was under way is sent again on the next one; what must not be is
    /// given up. Where there is no memory for that everything is as it was, so that it can be
    /// called again.
    GivenUps lost() {
        std::erase_if(waiting_, is_forgotten);
        GivenUps given_up = why_lost();
        Requests again(waiting_.size() + in_flight_.size());
        // From here on nothing fails.
        auto end = std::ranges::move(waiting_, again.begin()).out;
        auto next = given_up.begin();
        for (auto& request : in_flight_) {
            request->lost();
            if (request->when_lost == WhenLost::repeat) {
                *end++ = std::move(request);
            } else if (request->when_lost == WhenLost::tell) {
                (next++)->request = std::move(request);
            }
        }
        again.erase(end, again.end());
        std::ranges::sort(again, {}, [](const auto& request) { return request->number; });
        waiting_.swap(again);
        in_flight_.clear();
        return given_up;
    }

    /// As of an Outbox, and of those in flight.
    Moment earliest() const {
        return std::min(Base::earliest(), Base::earliest_deadline(in_flight_));
    }

private:
    static bool is_forgotten(const std::unique_ptr<Request>& request) {
        return request->when_lost == WhenLost::forget;
    }
    /// For each of those in flight that is to be told.
    GivenUps why_lost() const {
        GivenUps given_up;
        for (const auto& request : in_flight_) {
            if (request->when_lost != WhenLost::tell) continue;
            given_up.push_back(
                {nullptr,
                 Failure{errc::unreachable, Effect::unknown,
                         Base::store() + ": the connection broke before it was answered"}});
        }
        return given_up;
    }

    Requests in_flight_;
};

}  // namespace holdfast::inline v0::net
