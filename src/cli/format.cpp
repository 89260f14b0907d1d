// Here, and nowhere else in the program, the functions of fmt are compiled.
#define FMT_HEADER_ONLY
#include "cli/format.hpp"

#include <fmt/format.h>

namespace holdfast::cli {

std::string formatted_of(fmt::string_view text, fmt::format_args parts) {
    return fmt::vformat(text, parts);
}

}  // namespace holdfast::cli
