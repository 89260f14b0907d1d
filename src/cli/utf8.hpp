#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace holdfast::cli {

/// A character, and how many bytes of UTF-8 it takes.
struct Character {
    char32_t value = 0;
    std::size_t bytes = 0;
};

/// What the text starts with. Nothing for an empty one and for what is no UTF-8: cut off, longer
/// than need be, half of a surrogate pair, beyond Unicode.
std::optional<Character> first_character(std::string_view text);

/// How many columns of a terminal the text takes. It must be one that visible() made.
std::size_t columns_of(std::string_view text);

}  // namespace holdfast::cli
