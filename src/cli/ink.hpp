#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// What a text is painted for.
enum class Ink : std::uint8_t { plain, heading, held, waiting };

enum class Colour : std::uint8_t { off, on };

/// On when standard output is a terminal that knows colours ($TERM) and whose user has not asked
/// for none ($NO_COLOR, see no-color.org).
Colour colour_of_output();

/// The text as it is, or between the terminal's codes for the ink.
std::string painted(std::string_view text, Ink ink, Colour colour);

}  // namespace holdfast::cli
