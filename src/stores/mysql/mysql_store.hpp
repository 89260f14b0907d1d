#pragma once

#include <memory>

#include "port/store.hpp"
#include "port/store_url.hpp"

namespace holdfast::inline v0::mysql {

/// The store of a mysql:// URL, for MySQL and MariaDB. Throws Error when it cannot be reached, or
/// not entered.
std::shared_ptr<Store> open_mysql(const StoreUrl& url);

}  // namespace holdfast::inline v0::mysql
