#pragma once

#include <string>
#include <string_view>

namespace holdfast::cli {

/// The text on one line and without what would steer a terminal or pretend to be another text:
/// control characters, those that turn the direction of writing, line separators and bytes that
/// are no UTF-8 as \x1b, a backslash as two.
std::string visible(std::string_view text);

}  // namespace holdfast::cli
