#pragma once

#include <string_view>

namespace holdfast::cli {

/// Writes one line, "holdfast: " and the sentence, to standard error. Whatever the sentence quotes,
/// it stays one line and steers no terminal.
void say(std::string_view sentence);

}  // namespace holdfast::cli
