#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/options.hpp>

namespace holdfast::cli {

/// What `holdfast run` was asked for.
struct RunOptions {
    std::vector<std::string> names;
    std::vector<std::string> command;
    /// Unset: as long as it takes.
    std::optional<std::chrono::nanoseconds> patience;
    bool shared = false;
    std::optional<std::uint32_t> slots;
    LockOptions lock;
    std::string store;
    int conflict_exit_code = 75;
    bool verbose = false;
};

/// Adds the command to the program's. Parsing fills `options`, which must outlive the parser; the
/// command to be run is put in by the caller, for it stands behind the `--`.
CLI::App* add_run(CLI::App& program, RunOptions& options);

/// Runs the command under the hold, and says how the program shall end.
int run(RunOptions options);

}  // namespace holdfast::cli
