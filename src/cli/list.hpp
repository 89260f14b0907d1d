#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace holdfast::cli {

/// What `holdfast list` was asked for.
struct ListOptions {
    std::string prefix;
    std::string store;
    bool json = false;
};

/// Adds the command to the program's. Parsing fills `options`, which must outlive the parser.
CLI::App* add_list(CLI::App& program, ListOptions& options);

/// Prints who holds and who waits, and says how the program shall end.
int list(const ListOptions& options);

}  // namespace holdfast::cli
