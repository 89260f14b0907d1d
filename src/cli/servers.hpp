#pragma once

#include <string>

#include "cli/typed_line.hpp"

namespace holdfast::cli {

/// Where this program has the embedded stores alone, and the URL names none of them, becomes the
/// one for servers with the same words and environment: see docs/decisions/0013. To be called
/// before there is a thread, a child or a store; returns when this program is the right one, and
/// throws Error with errc::bad_configuration when the other one cannot be had.
void become_program_for(const std::string& url, Words words);

}  // namespace holdfast::cli
