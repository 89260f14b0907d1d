#pragma once

#include <memory>

#include "port/store.hpp"
#include "stores/store_url.hpp"

namespace holdfast::inline v0::redis {

/// The store on the Redis server that a URL names: redis:, rediss: or redis+unix:.
std::shared_ptr<Store> open_redis(const StoreUrl& url);

}  // namespace holdfast::inline v0::redis
