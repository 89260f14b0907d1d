#pragma once

#include "port/failure.hpp"
#include "stores/zookeeper/ensemble.hpp"
#include "stores/zookeeper/operations.hpp"

namespace holdfast::inline v0::zookeeper {

/// What a server's refusal means, in our words, where it is not part of the recipe.
/// Whether it says something else than what was asked for, or that there is no such node.
constexpr bool tells_nothing(Refusal refusal) {
    return refusal != Refusal::none && refusal != Refusal::no_node;
}
Failure failure_of(Refusal refusal, const Ensemble& ensemble);

}  // namespace holdfast::inline v0::zookeeper
