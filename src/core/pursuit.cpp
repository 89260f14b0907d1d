#include "core/pursuit.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace holdfast::inline v0::core {

using namespace std::chrono_literals;
using End = Acquisition::End;

std::optional<std::chrono::nanoseconds> Pursuit::pause_after(const Outcome& outcome, Moment now) {
    const auto left = patience_ ? began_ + *patience_ - now : 1h;
    // A store has its own patience for a request. Beyond that only who named a time is patient.
    const bool unreached =
        outcome.end == End::failed && outcome.failure->code == errc::unreachable && patience_;
    if (outcome.contenders.empty() || left <= 0ns || (outcome.end != End::put_out && !unreached))
        return std::nullopt;
    backoff_ = std::clamp<std::chrono::nanoseconds>(2 * backoff_, 10ms, 1s);
    return std::min(backoff_, left);
}

Outcome Pursuit::told(Outcome outcome) {
    if (outcome.end == End::put_out) outcome.end = outcome.failure ? End::failed : End::busy;
    return outcome;
}

namespace {

/// The contenders that were put out, as other ones.
std::vector<Contender> anew(Context& context, std::vector<Contender> contenders) {
    for (Contender& contender : contenders) contender.nonce = context.next_nonce();
    return contenders;
}

Pursuit pursuit_of(const Request& request) {
    // Who does not wait has no patience at all.
    const bool waits = request.contenders.front().patience == Patience::wait;
    return {waits ? request.patience : 0ns, request.began};
}

/// Lends the thread to the store meanwhile.
void rest(Wire& wire, Moment until, const std::stop_token& stop) {
    Wire::Waiter waiter;
    const std::stop_callback woken(stop, [&] { wire.signal(waiter); });
    wire.wait(waiter, until);
}

class AsyncPursuit : public std::enable_shared_from_this<AsyncPursuit> {
public:
    AsyncPursuit(std::shared_ptr<Context> context, Request request, Callback<void(Outcome)> done)
        : context_(std::move(context)),
          request_(std::move(request)),
          patience_(request_.patience),
          stop_(request_.stop),
          began_(request_.began),
          pursuit_(pursuit_of(request_)),
          done_(std::move(done)) {}

    void contend() {
        contend_async(context_, std::move(request_), [self = shared_from_this()](Outcome outcome) {
            self->ended(std::move(outcome));
        });
    }

private:
    void ended(Outcome outcome) {
        const Moment now = context_->clock().now();
        const auto pause = pursuit_.pause_after(outcome, now);
        if (!pause) return std::exchange(done_, {})(Pursuit::told(std::move(outcome)));
        request_ = {.contenders = anew(*context_, std::move(outcome.contenders)),
                    .patience = patience_,
                    .stop = stop_,
                    .began = began_};
        context_->renewing().at(now + *pause, [self = shared_from_this()] { self->contend(); });
    }

    const std::shared_ptr<Context> context_;
    Request request_;  ///< the next one
    const std::optional<std::chrono::nanoseconds> patience_;
    const std::stop_token stop_;
    const Moment began_;
    Pursuit pursuit_;
    Callback<void(Outcome)> done_;
};

}  // namespace

Outcome acquire(const std::shared_ptr<Context>& context, Request request) {
    context->make_ready();
    request.began = context->clock().now();
    Pursuit pursuit = pursuit_of(request);
    const auto [patience, stop, began] = std::tuple(request.patience, request.stop, request.began);
    for (;;) {
        Outcome outcome = contend(context, std::move(request));
        const Moment now = context->clock().now();
        const auto pause = pursuit.pause_after(outcome, now);
        if (!pause) return Pursuit::told(std::move(outcome));
        rest(context->store().wire(), now + *pause, stop);
        request = {anew(*context, std::move(outcome.contenders)), patience, stop, began};
    }
}

void acquire_async(const std::shared_ptr<Context>& context, Request request,
                   Callback<void(Outcome)> done) {
    context->make_ready();
    request.began = context->clock().now();
    const auto pursuit =
        std::make_shared<AsyncPursuit>(context, std::move(request), std::move(done));
    if (!context->store().may_block()) return pursuit->contend();
    // What was given back before goes the same way: first.
    context->renewing().post([pursuit] { pursuit->contend(); });
}

}  // namespace holdfast::inline v0::core
