#pragma once

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

}  // namespace holdfast::inline v0
