#pragma once

#include <string>

#include "port/store_url.hpp"

namespace holdfast::inline v0::net {

/// The first line of the file. Throws Error with errc::bad_configuration when it cannot be read or
/// is empty, or when the URL has a password too.
std::string password_from(const StoreUrl& url, const std::string& path);

}  // namespace holdfast::inline v0::net
