#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace holdfast::cli {

/// Adds NAME, the one resource that a command is about. Parsing fills `name`; an empty one is
/// refused.
void add_name(CLI::App& command, std::string& name);

}  // namespace holdfast::cli
