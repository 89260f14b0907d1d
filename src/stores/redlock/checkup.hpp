#pragma once

#include <string>

#include "port/store.hpp"
#include "stores/redlock/nodes.hpp"

namespace holdfast::inline v0::redlock {

/// What on the nodes makes locks less safe: see Store::examine(). Each is asked what a Redis alone
/// is, one after the other, on connections of its own. That a node may forget is nothing to be
/// found, for the others make that good; that one is away is, or that their clocks differ.
Result<Examination> examine(const Nodes& nodes, const std::string& channel);

}  // namespace holdfast::inline v0::redlock
