#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "port/clock.hpp"
#include "stores/net/backoff.hpp"
#include "stores/net/errand.hpp"

namespace holdfast::inline v0::net {

/// Who hears what a server pushes, as callbacks of a turn.
template <class Message>
class Listener {
public:
    virtual ~Listener() = default;
    /// What was pushed until now may have been missed, whether or not anything is heard from now
    /// on: see Listening::period().
    virtual void missed() = 0;
    virtual void pushed(const Message& message) = 0;
};

/// Whether what a server pushes is heard, by a connection of its own that a wire opens, and opens
/// again. Between two periods of listening is a gap, and each gap is told: nobody relies on a push
/// that may have come then. Time is an input.
template <class Message>
class Listening {
public:
    /// Held weakly. Whether this is the first who listens.
    bool want(const std::weak_ptr<Listener<Message>>& listener) {
        listener_ = listener;
        return !std::exchange(wanted_, true);
    }
    bool wanted() const noexcept { return wanted_; }
    /// No attempt to connect is made before.
    Moment next_attempt() const noexcept { return backoff_.next(); }

    /// Which period without a gap this is; nought while nothing is heard. From any thread.
    std::uint64_t period() const noexcept { return period_.load(); }
    /// Everything that is pushed from now on is heard, and perhaps nothing of what was before.
    void began(Due& due) {
        make_room(due, 1);
        backoff_.succeeded();
        period_ = ++periods_;
        missed(due);
    }
    /// Nothing is heard any more, or still. As long as that is so, each attempt to connect is also
    /// a moment to look.
    void lost(Moment now, Due& due) {
        make_room(due, 1);
        period_ = 0;
        backoff_.failed(now);
        missed(due);
    }
    void heard(Message message, Due& due) const {
        due.push_back([weak = listener_, message = std::move(message)] {
            if (const auto listener = weak.lock()) listener->pushed(message);
        });
    }

private:
    void missed(Due& due) const {
        due.push_back([weak = listener_] {
            if (const auto listener = weak.lock()) listener->missed();
        });
    }

    std::weak_ptr<Listener<Message>> listener_;
    bool wanted_ = false;
    Backoff backoff_;
    std::uint64_t periods_ = 0;
    std::atomic<std::uint64_t> period_{0};
};

}  // namespace holdfast::inline v0::net
