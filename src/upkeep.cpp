#include <holdfast/upkeep.hpp>

#include <holdfast/error.hpp>

#include "stores/open_store.hpp"

namespace holdfast::inline v0 {

std::string schema(std::string_view url) {
    return schema_of_store(url);
}

Swept sweep(std::string_view url) {
    const OpenedStore opened = open_store(url);
    const auto swept = opened.store->sweep().get();
    if (!swept.ok()) throw Error(swept.failure().code, swept.failure().sentence);
    return swept.value();
}

}  // namespace holdfast::inline v0
