#include "cli/utf8.hpp"

#include <array>
#include <clocale>
#include <cwchar>

namespace holdfast::cli {
namespace {

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

}  // namespace

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
