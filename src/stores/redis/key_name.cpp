#include "stores/redis/key_name.hpp"

#include <algorithm>

namespace holdfast::inline v0::redis {

namespace {

constexpr std::string_view digits = "0123456789ABCDEF";

bool stands_for_itself(char c) {
    // From - to : are - . / the digits and :
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '-' && c <= ':') || c == '_';
}

}  // namespace

std::string escaped(std::string_view name) {
    // Most names have nothing to escape.
    const auto first = std::ranges::find_if_not(name, stands_for_itself);
    std::string text(name.begin(), first);
    for (const char c : std::string_view(first, name.end())) {
        if (stands_for_itself(c)) {
            text += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        text += '%';
        text += digits[byte >> 4U];
        text += digits[byte & 0xfU];
    }
    return text;
}

std::optional<std::string> unescaped(std::string_view text) {
    std::string name;
    name.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (stands_for_itself(text[i])) {
            name += text[i];
            continue;
        }
        if (text[i] != '%' || i + 2 >= text.size()) return std::nullopt;
        const auto high = digits.find(text[i + 1]);
        const auto low = digits.find(text[i + 2]);
        if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
        name += static_cast<char>(high << 4U | low);
        i += 2;
    }
    return name;
}

std::string literal_pattern(std::string_view text) {
    std::string pattern;
    for (const char c : text) {
        if (std::string_view("*?[]\\^").find(c) != std::string_view::npos) pattern += '\\';
        pattern += c;
    }
    return pattern;
}

}  // namespace holdfast::inline v0::redis
