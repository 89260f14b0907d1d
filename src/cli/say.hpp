#pragma once

#include <string_view>

namespace holdfast::cli {

/// Writes one line, "holdfast: " and the sentence, to standard error.
void say(std::string_view sentence);

}  // namespace holdfast::cli
