#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/typed_line.hpp"

namespace holdfast::cli {

/// The one among the words that was meant by a mistyped one; empty if none is near.
std::string nearest(std::string_view mistyped, const std::vector<std::string>& words);

/// A sentence about the first of our words that is an option and none of the command's; nothing if
/// all are known.
std::optional<std::string> unknown_option(Words ours, const CLI::App& command);

}  // namespace holdfast::cli
