#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::inline v0::redis {

/// A name as it stands in a key of ours: letters, digits and ._-/: as they are, any other byte as
/// % and two hexadecimal digits. So two names never meet, and no name has a brace or a star.
std::string escaped(std::string_view name);
void append_escaped(std::string_view name, std::string& text);
/// Nothing when it is not the escaped form of any name.
std::optional<std::string> unescaped(std::string_view text);

/// A pattern for SCAN that matches the text itself.
std::string literal_pattern(std::string_view text);

}  // namespace holdfast::inline v0::redis
