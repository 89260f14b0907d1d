#pragma once

#include <sys/types.h>

#include <optional>

#include "cli/boot_time.hpp"
#include "cli/descendants.hpp"
#include "cli/pact.hpp"
#include "cli/run.hpp"
#include "cli/signals.hpp"

namespace holdfast::cli {

/// The process that the user has started: passes signals on to its child, the wrapper, and ends as
/// that one says. It has one thread and no part in the store, so that it can do what the wrapper
/// cannot once it is killed or stands still: end the command before the lease does.
class Warden {
public:
    Warden(pid_t wrapper, const RunOptions& options, const Signals& signals, Pact& pact);

    /// Until the wrapper has ended: how the program shall end.
    int watch();

private:
    void wait_for_news(BootTime until);
    bool wait_for_wrapper(BootTime until);
    void take_signals();
    BootTime takeover() const;
    int conclude();
    int replace_wrapper();
    int replace_killed_wrapper(int signal);
    void end_all(BootTime kill_at);
    void outlive_command() const;

    pid_t wrapper_;
    const RunOptions& options_;
    const Signals& signals_;
    Pact& pact_;
    std::optional<int> wrapper_status_;
    /// The last one that the terminal sent to the command as well.
    int terminal_signal_ = 0;
    BootTimer timer_;
};

}  // namespace holdfast::cli
