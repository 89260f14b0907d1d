#pragma once

#include "port/clock.hpp"
#include "port/contender.hpp"

namespace holdfast::inline v0 {

/// What a renewal of many, by several servers, answers for one whose server did not: it stands as
/// it was, and is trusted no longer for that. So one server that is away costs nobody else a lease.
inline Standing unanswered() {
    return {.state = Standing::State::waiting, .counted_from = Moment{}};
}
inline bool is_unanswered(const Standing& standing) {
    return standing.counted_from == Moment{};
}

}  // namespace holdfast::inline v0
