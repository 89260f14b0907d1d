#pragma once

#include <memory>
#include <string_view>

#include "port/store.hpp"
#include "port/store_url.hpp"

namespace holdfast::inline v0 {

/// Opens a store whose code is in a module of its own, holdfast/STORE.so beside libholdfast.so,
/// which is loaded for it and stays. Throws Error with errc::bad_configuration when the module is
/// missing, cannot be loaded or is of another version, and whatever the store itself throws.
std::shared_ptr<Store> open_module(std::string_view store, const StoreUrl& url);

/// The one thing that a module exports, by the name HOLDFAST_MODULE_ENTRANCE. Opens nothing and
/// says no when the library that calls is not of the version that the module was built with: the
/// two share types whose layout may change with every version.
using ModuleEntrance = bool(std::string_view version, const StoreUrl& url,
                            std::shared_ptr<Store>& opened);

}  // namespace holdfast::inline v0
