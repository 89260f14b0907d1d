#include "stores/net/secret.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace holdfast::inline v0::net {

namespace {

/// Nobody writes so much of a secret by chance.
constexpr std::size_t telling_size = 6;
constexpr std::string_view cut_mark = "***";
/// Of what a server says: nobody reads more.
constexpr std::size_t longest_quotation = 300;

bool is_letter(char character) {
    return std::isalnum(static_cast<unsigned char>(character)) != 0;
}

/// Whether the text goes on from one side of this place to the other without the end of a word.
bool is_inside_word(std::string_view text, std::size_t place) {
    return place > 0 && place < text.size() && is_letter(text[place - 1]) && is_letter(text[place]);
}

/// How much of the secret stands at this place of the text; nought when it is too little to tell.
std::size_t secret_at(std::string_view text, std::size_t place, std::string_view secret) {
    const auto rest = text.substr(place);
    const auto differs = std::ranges::mismatch(rest, secret);
    const auto size = static_cast<std::size_t>(differs.in2 - secret.begin());
    if (size >= telling_size) return size;
    const bool whole_word = size == secret.size() && !is_inside_word(text, place) &&
                            !is_inside_word(text, place + size);
    return whole_word ? size : 0;
}

/// A NUL would end the sentence, others would break its line or steer a terminal.
void append_visible(char character, std::string& text) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<std::uint8_t>(character);
    if (std::iscntrl(byte) == 0) {
        text += character;
        return;
    }
    text.append("\\x").append(1, digits[byte >> 4U]).append(1, digits[byte & 0xfU]);
}

/// Where a text may be cut: not inside a character of UTF-8.
std::size_t end_of_quotation(std::string_view text) {
    if (text.size() <= longest_quotation) return text.size();
    const auto continues = [&](std::size_t place) {
        return (static_cast<std::uint8_t>(text[place]) & 0xc0U) == 0x80U;
    };
    std::size_t end = longest_quotation;
    while (end > longest_quotation - 4 && continues(end)) --end;
    return end;
}

}  // namespace

std::string quotable(std::string_view text) {
    std::string quoted;
    const std::size_t end = end_of_quotation(text);
    quoted.reserve(end);
    for (const char character : text.substr(0, end)) append_visible(character, quoted);
    if (end < text.size()) quoted += "...";
    return quoted;
}

std::string without_secret(std::string_view text, std::string_view secret) {
    std::string cut;
    cut.reserve(std::min(text.size(), longest_quotation));
    // Behind that it is not quoted.
    for (std::size_t place = 0; place < text.size() && cut.size() <= longest_quotation;) {
        const std::size_t size = secret.empty() ? 0 : secret_at(text, place, secret);
        if (size > 0) {
            cut += cut_mark;
        } else {
            cut += text[place];
        }
        place += std::max<std::size_t>(size, 1);
    }
    return quotable(cut);
}

}  // namespace holdfast::inline v0::net
