#include "cli/visible.hpp"

#include <algorithm>
#include <array>
#include <clocale>
#include <cwchar>
#include <optional>

#include "cli/format.hpp"

namespace holdfast::cli {
namespace {

/// A character, and how many bytes of UTF-8 it takes.
struct Character {
    char32_t value = 0;
    std::size_t bytes = 0;
};

constexpr std::array<char32_t, 5> smallest_of_length{0, 0, 0x80, 0x800, 0x10000};

std::size_t length_announced_by(unsigned char first) {
    if (first < 0x80) return 1;
    if (first >= 0xc0 && first < 0xe0) return 2;
    if (first >= 0xe0 && first < 0xf0) return 3;
    if (first >= 0xf0 && first < 0xf8) return 4;
    return 0;
}

bool is_sound(const Character& character) {
    const bool surrogate = character.value >= 0xd800 && character.value <= 0xdfff;
    return character.value >= smallest_of_length[character.bytes] && !surrogate &&
           character.value <= 0x10ffff;
}

/// wcwidth() asks the locale, and the program has none set: names are UTF-8 wherever it runs.
/// Loaded when first needed, for it takes longer than all the rest of a listing.
int columns_of(char32_t character) {
    static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{});
    const locale_t before = uselocale(utf8);
    const int columns = wcwidth(static_cast<wchar_t>(character));
    uselocale(before);
    return columns;
}

/// The character that a text starts with. Nothing for an empty one and for what is no UTF-8: cut
/// off, longer than need be, half of a surrogate pair, beyond Unicode.
std::optional<Character> first_character(std::string_view text) {
    if (text.empty()) return std::nullopt;
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t length = length_announced_by(first);
    if (length == 0 || text.size() < length) return std::nullopt;
    Character character{.value = length == 1 ? first : first & (0x7fU >> length), .bytes = length};
    for (const char c : text.substr(1, length - 1)) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte & 0xc0U) != 0x80) return std::nullopt;
        character.value = (character.value << 6U) | (byte & 0x3fU);
    }
    if (!is_sound(character)) return std::nullopt;
    return character;
}

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
        result += formatted("\\x{:02x}", static_cast<unsigned char>(c));
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

std::size_t columns_of(std::string_view text) {
    std::size_t columns = 0;
    while (const auto character = first_character(text)) {
        // One that the locale does not know is shown as some sign, mostly of one column.
        const int own = character->bytes == 1 ? 1 : columns_of(character->value);
        columns += own < 0 ? 1 : static_cast<std::size_t>(own);
        text.remove_prefix(character->bytes);
    }
    return columns;
}

}  // namespace holdfast::cli
