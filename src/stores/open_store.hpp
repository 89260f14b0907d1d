#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "port/store.hpp"

namespace holdfast::inline v0 {

struct OpenedStore {
    std::shared_ptr<Store> store;
    std::string prefix;  ///< put before every name
    std::string url;     ///< without its password
};

/// The store that a URL names; an empty one names the embedded store. `connection` says what the
/// URL leaves out. Throws Error with errc::bad_configuration for an unknown scheme or parameter,
/// listing the known ones, and whatever the store itself throws.
OpenedStore open_store(std::string_view url, const ConnectionOptions& connection = {});

/// The statements that make what its store needs in a database: see holdfast/upkeep.hpp. Opens
/// nothing. Throws as open_store() does of a URL.
std::string schema_of_store(std::string_view url);

/// The prefix that open_store() would answer, without opening anything. Throws as it does.
std::string prefix_in_store(std::string_view url);

}  // namespace holdfast::inline v0
