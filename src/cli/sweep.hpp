#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace holdfast::cli {

/// What `holdfast sweep` was asked for.
struct SweepOptions {
    std::string store;
};

/// Adds the command to the program's. Parsing fills `options`, which must outlive the parser.
CLI::App* add_sweep(CLI::App& program, SweepOptions& options);

/// Removes what is over from a store, and says how the program shall end.
int sweep(const SweepOptions& options);

}  // namespace holdfast::cli
