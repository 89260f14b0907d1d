#pragma once

#include "port/failure.hpp"
#include "stores/zookeeper/ensemble.hpp"
#include "stores/zookeeper/operations.hpp"

namespace holdfast::inline v0::zookeeper {

/// What a server's refusal means, in our words, where it is not part of the recipe.
Failure failure_of(Refusal refusal, const Ensemble& ensemble);

}  // namespace holdfast::inline v0::zookeeper
