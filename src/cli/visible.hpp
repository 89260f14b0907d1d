#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// The text on one line and without what would steer a terminal or pretend to be another text:
/// control characters, those that turn the direction of writing, line separators and bytes that
/// are no UTF-8 as \x1b, a backslash as two.
std::string visible(std::string_view text);

/// How many columns of a terminal the text takes. It must be one that visible() made.
std::size_t columns_of(std::string_view text);

}  // namespace holdfast::cli
