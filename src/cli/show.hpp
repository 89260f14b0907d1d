#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace holdfast::cli {

/// What `holdfast show` was asked for.
struct ShowOptions {
    std::string name;
    std::string store;
    bool json = false;
};

/// Adds the command to the program's. Parsing fills `options`, which must outlive the parser.
CLI::App* add_show(CLI::App& program, ShowOptions& options);

/// Prints all that is known of one resource, and says how the program shall end.
int show(const ShowOptions& options);

}  // namespace holdfast::cli
