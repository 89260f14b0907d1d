#pragma once

#include <holdfast/holdfast.hpp>

#include "cli/pact.hpp"
#include "cli/run.hpp"
#include "cli/steps.hpp"

namespace holdfast::cli {

/// A signal ended the wait: to be obeyed now that we are out of line. SIGKILL: the warden is gone.
struct StoppedWaiting {
    int signal;
};

/// What the taking of a hold needs to know of.
struct Circumstances {
    const Client& client;
    const RunOptions& options;
    const Steps& steps;
    Pact& pact;
    /// Of the warden: what the user sees as the job.
    pid_t group = 0;
};

/// The hold, or nothing when it was not to be had in time. Stopped like any job (Ctrl-Z) while it
/// waits, it leaves the line, so that nobody waits for it, and joins again when it is continued.
/// Throws StoppedWaiting, and Error.
Attempt take(const Circumstances& here);

}  // namespace holdfast::cli
