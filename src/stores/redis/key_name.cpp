#include "stores/redis/key_name.hpp"

#include <algorithm>
#include <array>

namespace holdfast::inline v0::redis {

namespace {

constexpr std::string_view digits = "0123456789ABCDEF";

constexpr auto themselves = [] {
    std::array<bool, 256> table{};
    for (unsigned char c = 'a'; c <= 'z'; ++c) table[c] = true;
    for (unsigned char c = 'A'; c <= 'Z'; ++c) table[c] = true;
    for (unsigned char c = '0'; c <= '9'; ++c) table[c] = true;
    for (const unsigned char c : {'.', '_', '-', '/', ':'}) table[c] = true;
    return table;
}();

bool stands_for_itself(char c) {
    return themselves[static_cast<unsigned char>(c)];
}

}  // namespace

void append_escaped(std::string_view name, std::string& text) {
    // Most names have nothing to escape.
    const auto first = std::ranges::find_if_not(name, stands_for_itself);
    text.append(name.begin(), first);
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
}

std::string escaped(std::string_view name) {
    std::string text;
    append_escaped(name, text);
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
