#pragma once

#include <sys/types.h>

#include <optional>

#include "cli/boot_time.hpp"
#include "cli/descendants.hpp"
#include "cli/pact.hpp"
#include "cli/run_options.hpp"
#include "cli/signals.hpp"

namespace holdfast::cli {

/// The command's parent, and the child of the wrapper, which holds the lock. It has one thread and
/// no part in the store, so that it can do what the wrapper cannot once that one is killed or
/// stands still: end the command, with all that it has started, before the next holder is in.
class Warden {
public:
    /// Makes the command's process, and leaves the user's job and session to it.
    Warden(const RunOptions& options, const Signals& signals, Pact& pact);

    /// Watches until the command has ended with all that it has started; or without, when the
    /// wrapper says that this may be left.
    void watch();

private:
    bool over() const;
    void wait_for_news();
    void take_signals();
    void take_orders();
    void look_at_wrapper();
    void look_at_family();
    void tell_end();
    BootTime next_look() const;
    void end(BootTime kill_at);

    const RunOptions& options_;
    const Signals& signals_;
    Pact& pact_;
    pid_t command_;
    bool command_ended_ = false;
    bool dismissed_ = false;
    bool wrapper_gone_ = false;
    std::optional<Roundup> ending_;
    bool none_left_ = false;
    BootTimer timer_;
};

}  // namespace holdfast::cli
