#pragma once

#include <string>
#include <string_view>

namespace holdfast::cli {

/// The text on one line and without what would steer a terminal: control characters as \x1b, a
/// backslash as two.
std::string visible(std::string_view text);

}  // namespace holdfast::cli
