#include "stores/zookeeper/ending.hpp"

#include <algorithm>
#include <utility>

#include "port/sentences.hpp"
#include "stores/zookeeper/failures.hpp"

namespace holdfast::inline v0::zookeeper {

Ending::Ending(const Protocol& protocol, Term term, Incarnation place, Ended ended)
    : term_(term),
      place_(std::move(place)),
      ended_(std::move(ended)),
      deadline_(BootClock::now() + protocol.ensemble().request_timeout) {}

void Ending::look(Protocol& protocol) {
    protocol.submit(term_,
                    {.operations = {catch_up(), look_at_node(place_.node)}, .deadline = deadline_},
                    [self = shared_from_this()](Protocol& alive, const Answer& answer) {
                        self->looked(alive, answer);
                    });
}

void Ending::looked(Protocol& protocol, const Answer& answer) {
    if (!answer.result.ok()) {
        Failure failure = answer.result.failure();
        if (tried_) failure.effect = Effect::unknown;
        return ended_(protocol, std::move(failure));
    }
    const Reply& reply = answer.result.value()[1];
    if (!reply.ok() && reply.refusal != Refusal::no_node) {
        return ended_(protocol, failure_of(reply.refusal, protocol.ensemble()));
    }
    const bool same = reply.ok() && reply.stat().czxid == place_.made_by;
    if (!same) return gone(protocol);
    // The leader has just heard of this session, so it cannot end before: what is sent until then
    // is not sent by a later session, after the end of what was looked at.
    const Moment limit = answer.sent + protocol.wire().session_timeout(term_);
    if (BootClock::now() >= limit) return look(protocol);
    remove(protocol, limit);
}

void Ending::remove(Protocol& protocol, Moment limit) {
    protocol.submit(term_,
                    {.operations = {delete_node(place_.node)},
                     .when_lost = WhenLost::tell,
                     .deadline = std::min(deadline_, limit)},
                    [self = shared_from_this()](Protocol& alive, const Answer& answer) {
                        self->removed(alive, answer);
                    });
}

void Ending::removed(Protocol& protocol, const Answer& answer) {
    if (!answer.result.ok()) {
        tried_ = tried_ || answer.result.failure().effect == Effect::unknown;
        if (BootClock::now() < deadline_) return look(protocol);
        return ended_(protocol, answer.result.failure());
    }
    const Reply& reply = answer.result.value().front();
    if (reply.ok()) return ended_(protocol, Standing{.state = Standing::State::admitted});
    if (reply.refusal == Refusal::no_node) return gone(protocol);
    ended_(protocol, failure_of(reply.refusal, protocol.ensemble()));
}

void Ending::gone(Protocol& protocol) {
    if (tried_) return ended_(protocol, perhaps_done(protocol.ensemble().shown()));
    ended_(protocol, Standing{});
}

}  // namespace holdfast::inline v0::zookeeper
