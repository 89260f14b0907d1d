#include "cli/visible.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/utf8.hpp"

namespace holdfast::cli {
namespace {

struct Range {
    char32_t first;
    char32_t last;
};

constexpr Range steering[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},  // DEL, and the controls that some terminals obey too
    {0x61c, 0x61c},                  // of the direction of writing
    {0x200e, 0x200f},                //
    {0x2028, 0x202e},                // line and paragraph separator, and directions again
    {0x2066, 0x2069},
};

bool is_steering(char32_t character) {
    return std::ranges::any_of(steering, [&](const Range& range) {
        return range.first <= character && character <= range.last;
    });
}

void append_escaped(std::string& result, std::string_view bytes) {
    for (const char c : bytes) {
        fmt::format_to(std::back_inserter(result), "\\x{:02x}", static_cast<unsigned char>(c));
    }
}

}  // namespace

std::string visible(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const auto character = first_character(text);
        const std::string_view bytes = text.substr(0, character ? character->bytes : 1);
        if (!character || is_steering(character->value)) {
            append_escaped(result, bytes);
        } else {
            result += bytes == "\\" ? "\\\\" : bytes;
        }
        text.remove_prefix(bytes.size());
    }
    return result;
}

}  // namespace holdfast::cli
