#include "stores/zookeeper/ending.hpp"

#include <algorithm>
#include <utility>

#include "port/sentences.hpp"
#include "stores/zookeeper/failures.hpp"

namespace holdfast::inline v0::zookeeper {

Ending::Ending(const Common& common, Term term, PlaceText place, Ended ended)
    : term_(term),
      place_(std::move(place)),
      ended_(std::move(ended)),
      deadline_(BootClock::now() + common.ensemble().request_timeout) {}

void Ending::look(Common& common) {
    common.submit(term_,
                  {.operations = {catch_up(), look_at_node(place_.node)}, .deadline = deadline_},
                  [self = shared_from_this()](Common& alive, const Answer& answer) {
                      self->looked(alive, answer);
                  });
}

void Ending::looked(Common& common, const Answer& answer) {
    if (!answer.result.ok()) {
        Failure failure = answer.result.failure();
        if (tried_) failure.effect = Effect::unknown;
        return ended_(common, std::move(failure));
    }
    const Reply& reply = answer.result.value()[1];
    if (!reply.ok() && reply.refusal != Refusal::no_node) {
        return ended_(common, failure_of(reply.refusal, common.ensemble()));
    }
    const bool same = reply.ok() && reply.stat().czxid == place_.made_by;
    if (!same) return gone(common);
    // The leader has just heard of this session, so it cannot end before: what is sent until then
    // is not sent by a later session, after the end of what was looked at.
    const Moment limit = answer.sent + common.wire.session_timeout(term_);
    if (BootClock::now() >= limit) return look(common);
    remove(common, limit);
}

void Ending::remove(Common& common, Moment limit) {
    common.submit(term_,
                  {.operations = {delete_node(place_.node)},
                   .when_lost = WhenLost::tell,
                   .deadline = std::min(deadline_, limit)},
                  [self = shared_from_this()](Common& alive, const Answer& answer) {
                      self->removed(alive, answer);
                  });
}

void Ending::removed(Common& common, const Answer& answer) {
    if (!answer.result.ok()) {
        tried_ = tried_ || answer.result.failure().effect == Effect::unknown;
        if (BootClock::now() < deadline_) return look(common);
        return ended_(common, answer.result.failure());
    }
    const Reply& reply = answer.result.value().front();
    if (reply.ok()) return ended_(common, Standing{.state = Standing::State::admitted});
    if (reply.refusal == Refusal::no_node) return gone(common);
    ended_(common, failure_of(reply.refusal, common.ensemble()));
}

void Ending::gone(Common& common) {
    if (tried_) return ended_(common, perhaps_done(common.ensemble().shown()));
    ended_(common, Standing{});
}

}  // namespace holdfast::inline v0::zookeeper
