#pragma once

#include <memory>

#include "port/store.hpp"
#include "port/store_url.hpp"

namespace holdfast::inline v0::@name @{

    /// Locks on one @name@ server. Connects at once, and throws Error when that fails.
    std::shared_ptr<Store> open_ @name @(const StoreUrl& url);

}  // namespace holdfast::inline v0::@name@
