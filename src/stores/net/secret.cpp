#include "stores/net/secret.hpp"

#include <algorithm>
#include <cctype>

namespace holdfast::inline v0::net {

namespace {

/// Nobody writes so much of a secret by chance.
constexpr std::size_t telling_size = 6;
constexpr std::string_view cut_mark = "***";

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

}  // namespace

std::string without_secret(std::string_view text, std::string_view secret) {
    std::string cut;
    cut.reserve(text.size());
    for (std::size_t place = 0; place < text.size();) {
        const std::size_t size = secret.empty() ? 0 : secret_at(text, place, secret);
        if (size > 0) {
            cut += cut_mark;
        } else {
            cut += text[place];
        }
        place += std::max<std::size_t>(size, 1);
    }
    return cut;
}

}  // namespace holdfast::inline v0::net
