#pragma once

#include <chrono>

#include "port/failure.hpp"
#include "stores/zookeeper/ensemble.hpp"
#include "stores/zookeeper/operations.hpp"

namespace holdfast::inline v0::zookeeper {

/// Whether it says something else than what was asked for, or that there is no such node.
constexpr bool tells_nothing(Refusal refusal) {
    return refusal != Refusal::none && refusal != Refusal::no_node;
}
/// Whether it is what a write came to, when a majority had taken it.
constexpr bool is_of_transaction(Refusal refusal) {
    return refusal == Refusal::no_node || refusal == Refusal::no_auth ||
           refusal == Refusal::bad_version || refusal == Refusal::node_exists ||
           refusal == Refusal::not_empty || refusal == Refusal::no_children_for_ephemerals;
}
/// Whether a write was done, or will not be: a server that has no time for it refuses it by itself.
constexpr bool is_of_majority(Refusal refusal) {
    return refusal == Refusal::none || is_of_transaction(refusal);
}
/// A name that others would write as a path.
Failure leading_slash(const Ensemble& ensemble);
/// A lease that no session of this server's can carry.
Failure lease_too_long(std::chrono::milliseconds lease, std::chrono::milliseconds session,
                       const Ensemble& ensemble);
/// One that is to outlast the session which its contender came with.
Failure beyond_session(std::chrono::milliseconds lease, std::chrono::milliseconds session,
                       const Ensemble& ensemble);
/// What a server's refusal means, in our words, where it is not part of the recipe.
Failure failure_of(Refusal refusal, const Ensemble& ensemble);

}  // namespace holdfast::inline v0::zookeeper
