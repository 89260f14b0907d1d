#pragma once

#include <string_view>

namespace holdfast::cli {

/// Standard output took not all of it; this was said already.
struct NotWritten {};

/// Writes to standard output, all of it at once: nobody shall take half a listing for all of it.
/// Throws NotWritten when it cannot be written, and says why, unless nobody reads it any more
/// (| head).
void print(std::string_view text);

}  // namespace holdfast::cli
