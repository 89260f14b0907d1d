#pragma once

#include <string_view>

namespace holdfast::cli {

/// Writes one line, "holdfast: " and the sentence, to standard error. Whatever the sentence quotes,
/// it stays one line and steers no terminal.
void say(std::string_view sentence);

/// Thrown when standard output did not take all of it; this was said already.
struct NotWritten {};

/// Writes to standard output, all of it at once: nobody shall take half a listing for all of it.
/// Throws NotWritten when it cannot be written, and says why, unless nobody reads it any more
/// (| head).
void print(std::string_view text);

}  // namespace holdfast::cli
