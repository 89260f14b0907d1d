#pragma once

#include "port/store.hpp"
#include "stores/redis/address.hpp"
#include "stores/redis/node.hpp"

namespace holdfast::inline v0::redis {

/// What on these servers makes locks less safe: see Store::examine(). That they evict, forget or
/// are full, that replicas are there and not asked, that sentinels or masters are too few, and what
/// the user may not do.
///
/// Asks each by a connection of its own: a client knows of some nodes only when a lock of theirs is
/// asked for. Waits for each answer for as long as for any request.
Result<Examination> examine(const Servers& servers, const Pushes& pushes);

}  // namespace holdfast::inline v0::redis
