#pragma once

#include <chrono>

#include <holdfast/holdfast.hpp>

#include "cli/run_options.hpp"
#include "cli/signals.hpp"
#include "cli/steps.hpp"

namespace holdfast::cli {

/// What the taking of a hold needs to know of.
struct Circumstances {
    const Client& client;
    const RunOptions& options;
    const Steps& steps;
    const Signals& signals;
    /// The moment since which the hold is asked for.
    std::chrono::steady_clock::time_point began;
};

/// The hold, or nothing when it was not to be had in time. Stopped like any job (Ctrl-Z) while it
/// waits, it leaves the line, so that nobody waits for it, and joins again when it is continued.
/// Throws EndedBySignal, and Error.
Attempt take(const Circumstances& here);

/// Gives it back, for this signal came before the command was started. To a store that stands still
/// it is obeyed all the same: this ends the process then.
void give_back(Hold& hold, int signal);

}  // namespace holdfast::cli
