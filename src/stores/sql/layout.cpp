#include "stores/sql/layout.hpp"

#include <string>

#include <holdfast/error.hpp>

namespace holdfast::inline v0::sql {

Layout layout_of(const StoreUrl& url) {
    const std::string layout = url.text("layout").value_or("holdfast");
    if (layout == "holdfast") return Layout::holdfast;
    if (layout == "shedlock") return Layout::shedlock;
    throw Error(errc::bad_configuration, url.shown + ": the parameter layout is '" + layout +
                                             "'; give holdfast or shedlock");
}

}  // namespace holdfast::inline v0::sql
