#pragma once

#include <memory>

#include "port/store.hpp"
#include "port/store_url.hpp"

namespace holdfast::inline v0::redis {

/// Locks on a Redis server, on the master that sentinels name, or on a cluster. Connects at once,
/// and throws Error when that fails.
std::shared_ptr<Store> open_redis(const StoreUrl& url);

}  // namespace holdfast::inline v0::redis
