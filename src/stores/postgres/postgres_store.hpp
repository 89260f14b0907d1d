#pragma once

#include <memory>

#include "port/store.hpp"
#include "port/store_url.hpp"

namespace holdfast::inline v0::postgres {

/// The store of a postgres:// URL. Throws Error when it cannot be reached, or not entered.
std::shared_ptr<Store> open_postgres(const StoreUrl& url);

}  // namespace holdfast::inline v0::postgres
