#pragma once

#include <cstdint>

#include "port/store_url.hpp"

namespace holdfast::inline v0::sql {

/// Whose rows a lock is in.
enum class Layout : std::uint8_t {
    holdfast,
    shedlock,  ///< ShedLock's, shared with it: see shedlock.sql
};

/// Throws Error with errc::bad_configuration for one that there is not.
Layout layout_of(const StoreUrl& url);

}  // namespace holdfast::inline v0::sql
