#pragma once

#include <memory>

#include "port/store.hpp"
#include "port/store_url.hpp"

namespace holdfast::inline v0::redlock {

/// Locks on independent nodes, held when a majority of them says so. Connects to all at once;
/// throws Error when a majority cannot be reached in time, or not entered.
std::shared_ptr<Store> open_redlock(const StoreUrl& url);

}  // namespace holdfast::inline v0::redlock
