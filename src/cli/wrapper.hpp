#pragma once

#include <sys/types.h>

#include "cli/pact.hpp"
#include "cli/run.hpp"
#include "cli/signals.hpp"

namespace holdfast::cli {

/// The process that holds the lock: the warden's child. Takes the hold, runs the command under it
/// and gives it back; how the program shall end. `group` is the warden's.
int wrap(const RunOptions& options, const Signals& signals, Pact& pact, pid_t group);

}  // namespace holdfast::cli
