#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace holdfast::cli {

/// fmt::vformat(), compiled once: where each file has its own, the program takes twice as long to
/// compile, and as a shared library it would cost every start.
std::string formatted_of(fmt::string_view text, fmt::format_args parts);

/// The text with the parts in place of its {}, as fmt::format() does it.
template <class... Parts>
std::string formatted(fmt::format_string<Parts...> text, Parts&&... parts) {
    return formatted_of(text, fmt::make_format_args(parts...));
}

/// All parts, and the text between each two of them.
template <class Parts>
std::string joined(const Parts& parts, std::string_view between) {
    std::string result;
    std::size_t count = 0;
    for (const auto& part : parts) {
        if (count++ > 0) result += between;
        result += formatted("{}", part);
    }
    return result;
}

}  // namespace holdfast::cli
