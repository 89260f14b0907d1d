#include "cli/visible.hpp"

#include <fmt/format.h>

namespace holdfast::cli {
namespace {

/// How many bytes the control character at the start of the text has; 0 if there is none.
std::size_t control_character(std::string_view text) {
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x20 || first == 0x7f) return 1;
    // U+0080 to U+009F in UTF-8: some terminals obey these too.
    if (first != 0xc2 || text.size() < 2) return 0;
    const auto second = static_cast<unsigned char>(text[1]);
    return second >= 0x80 && second <= 0x9f ? 2 : 0;
}

}  // namespace

std::string visible(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const std::size_t control = control_character(text);
        for (const char c : text.substr(0, control)) {
            result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
        if (control == 0) result += text[0] == '\\' ? "\\\\" : std::string(1, text[0]);
        text.remove_prefix(control == 0 ? 1 : control);
    }
    return result;
}

}  // namespace holdfast::cli
