#pragma once

#include <memory>

#include "port/store.hpp"
#include "port/store_url.hpp"
#include "stores/local/folder.hpp"

namespace holdfast::inline v0::local {

/// The embedded store: the lines of all processes of this machine that name the same folder.
/// Throws Error when the folder cannot be used.
std::shared_ptr<Store> open_local(const LocalOptions& options);
/// The same of the folder, the mode and the time limit that a URL names.
std::shared_ptr<Store> open_local(const StoreUrl& url);

}  // namespace holdfast::inline v0::local
