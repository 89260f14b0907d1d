#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace holdfast::cli {

/// What `holdfast break` was asked for.
struct BreakOptions {
    std::string name;
    std::uint64_t fence = 0;
    std::string store;
};

/// Adds the command to the program's. Parsing fills `options`, which must outlive the parser.
CLI::App* add_break(CLI::App& program, BreakOptions& options);

/// Ends the hold, and says how the program shall end.
int break_hold(const BreakOptions& options);

}  // namespace holdfast::cli
