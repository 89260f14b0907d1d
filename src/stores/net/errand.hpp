#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <holdfast/callback.hpp>

#include "port/clock.hpp"
#include "port/failure.hpp"

namespace holdfast::inline v0::net {

/// The callbacks of a turn: see Wire.
using Due = std::vector<Callback<void()>>;

/// So many more will find room among those without an allocation, which might fail when half of
/// something is done.
template <class T>
void make_room(std::vector<T>& those, std::size_t count) {
    if (those.capacity() - those.size() >= count) return;
    those.reserve(std::max(2 * those.capacity(), those.size() + count));
}

/// What becomes of an errand whose connection breaks before it is answered.
enum class WhenLost : std::uint8_t {
    repeat,
    tell,    ///< that it was lost: somebody has to look before it is sent again
    forget,  ///< it means nothing on another connection, and nobody waits for it
};

/// One request of a client, as far as all wires have the same rules for it: until when it is tried,
/// and what is known of its effect when it ends. Time is an input.
struct Errand {
    explicit Errand(Moment until) : deadline(until) {}

    Moment deadline;
    WhenLost when_lost = WhenLost::repeat;
    std::uint64_t number = 0;  ///< in the order in which they were submitted
    Moment sent{};             ///< the last copy
    /// A copy of it was lost while it was under way: a server may have carried that out, or may
    /// yet.
    bool repeated = false;
    /// What it met since it was last sent, and what was to pass.
    std::optional<Failure> trouble = std::nullopt;

    bool is_overdue(Moment now) const noexcept { return now >= deadline; }
    void goes_out(Moment now) {
        sent = now;
        trouble.reset();
    }
    void lost() noexcept { repeated = true; }

    /// What is known of all copies, when `last` is known of the last one: whatever becomes of that,
    /// nobody can tell what became of those that were lost before it.
    Effect effect(Effect last) const noexcept { return repeated ? Effect::unknown : last; }
    /// Why it ends by what a server has answered, which says itself what it did.
    Failure refused(Failure why) const {
        why.effect = effect(why.effect);
        return why;
    }
    /// Why it ends while it is not under way: it was never sent, or the last copy did nothing, or
    /// it was lost.
    Failure given_up(Failure why) const {
        why.effect = effect(Effect::none);
        return why;
    }
};

/// What became of a request.
template <class Reply>
struct Answer {
    Result<Reply> result;
    /// A connection broke at least once while it was under way: an earlier copy of it may have been
    /// carried out, or may still be.
    bool repeated = false;
    Moment sent{};  ///< the copy that was answered
};

/// An errand, and who waits for its answer.
template <class Told>
struct Question : Errand {
    using Answered = Callback<void(Told)>;
    using Outcome = decltype(Told::result);

    Question(Moment until, Answered told) : Errand(until), answered(std::move(told)) {}

    Answered answered;
    std::optional<Told> answer = std::nullopt;
};

/// A request that ends without a reply.
template <class Request>
struct GivenUp {
    std::unique_ptr<Request> request;
    Failure why;
};

/// Tells whoever asked the answer, which goes with the question: what stays where it is while it is
/// passed on costs the least.
template <class Request>
Callback<void()> telling(std::unique_ptr<Request> request) {
    return [request = std::move(request)] { request->answered(*std::move(request->answer)); };
}

/// As one of the callbacks of a turn. Where there is no memory for that, the request stays with the
/// caller.
template <class Request>
void finish(std::unique_ptr<Request>&& request, typename Request::Outcome result, Due& due) {
    make_room(due, 1);
    request->answer = {std::move(result), request->repeated, request->sent};
    due.push_back(telling(std::move(request)));
}

template <class Request>
void finish(std::vector<GivenUp<Request>> given_up, Due& due) {
    for (auto& [request, why] : given_up) finish(std::move(request), std::move(why), due);
}

}  // namespace holdfast::inline v0::net
