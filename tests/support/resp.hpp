#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The Redis protocol, as far as a test wants to see it: versions 2 and 3, no streamed types.
namespace holdfast::test {

struct Resp {
    char type = '+';          ///< its first byte
    std::string text;         ///< of what has no parts
    std::vector<Resp> parts;  ///< a map's keys and values alternate
    bool null = false;
};

/// Takes one value from the front of `input`; nothing, and `input` as it was, while it is not
/// complete. A line of no known type is a simple string: an inline command is one.
std::optional<Resp> read_resp(std::string_view& input);

/// As a request.
std::string to_resp(const std::vector<std::string>& words);

/// For people and for EXPECT_EQ: `text`, `-ERR text`, `(nil)`, `[one, [two, three]]`.
std::string to_text(const Resp& value);

/// The words of one complete request.
std::vector<std::string> words_of(std::string_view request);

}  // namespace holdfast::test
