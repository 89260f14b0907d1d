#pragma once

#include <memory>

#include "port/store.hpp"
#include "port/store_url.hpp"

namespace holdfast::inline v0::memcached {

/// Locks on memcached servers, each name on one of them. Connects to all at once; throws Error when
/// none of them can be reached, or one cannot be used as the URL says.
std::shared_ptr<Store> open_memcached(const StoreUrl& url);

}  // namespace holdfast::inline v0::memcached
