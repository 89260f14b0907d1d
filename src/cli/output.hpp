#pragma once

#include <string_view>

namespace holdfast::cli {

/// Writes to standard output, all of it at once: nobody shall take half a listing for all of it.
/// Throws std::system_error when it cannot be written. If nobody reads it any more (| head), the
/// process dies by SIGPIPE, also where that is ignored.
void print(std::string_view text);

}  // namespace holdfast::cli
