#pragma once

#include "cli/pact.hpp"
#include "cli/run_options.hpp"
#include "cli/signals.hpp"

namespace holdfast::cli {

/// Whether we have a terminal that can send signals to our process group.
bool has_terminal();

/// Becomes the command when the pact gives the word, or ends. With a terminal it stays in the
/// user's job, so that it can be in the foreground, stopped and continued like any other; otherwise
/// it leads a group of its own, so that what is sent to all of ours does not reach it twice. Unless
/// it is to outlive a lost hold, it ends with the warden, its parent.
[[noreturn]] void become_command(const RunOptions& options, const Signals& signals, Pact& pact,
                                 pid_t warden);

/// The exit code that says how a process ended: its own, or 128 and its signal.
int exit_code_of_status(int status);

}  // namespace holdfast::cli
