#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <holdfast/export.hpp>
#include <holdfast/options.hpp>

#include "port/failure.hpp"

/// What every store says in the same words. The core puts the name before them that the user gave.
namespace holdfast::inline v0 {

/// What a resource is used as. All who contend for it must agree.
struct Usage {
    std::uint64_t capacity = 0;
    Fairness fairness = Fairness::fifo;
};

/// It is in use otherwise than it is asked for.
HOLDFAST_EXPORT Failure conflict(Usage in_use, Usage asked);
/// The owner holds it already, and would wait for itself.
HOLDFAST_EXPORT Failure deadlock(std::string_view owner);
/// The request comes after the leave that took it back.
HOLDFAST_EXPORT Failure withdrawn();
/// A request went out more than once, and what it was to end is not there: an earlier copy of it,
/// or somebody else, has ended it. `store` is named as the user knows it, without its password.
HOLDFAST_EXPORT Failure perhaps_done(std::string_view store);
/// Nothing was answered in all that time. `last_try` is what the last one met, if anything.
HOLDFAST_EXPORT Failure timed_out(std::string_view store, std::chrono::milliseconds limit,
                                  std::string_view last_try = {});

}  // namespace holdfast::inline v0
