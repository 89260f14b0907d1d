#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "cli/pact.hpp"

namespace holdfast::cli {

/// A variable of the command's environment.
struct Variable {
    std::string name;
    std::string value;
};

/// How the command is started.
struct Start {
    std::vector<std::string> words;
    std::vector<Variable> variables;
    sigset_t mask;
    /// Ours. With a terminal the command stays in it, so that it can be in the foreground, stopped
    /// and continued like any other; otherwise it leads one of its own, so that what is sent to
    /// all of ours does not reach it twice.
    pid_t group = 0;
};

/// The command that runs under a hold.
class Command {
public:
    /// Starts it. Throws std::system_error when it cannot be executed.
    explicit Command(Start start);

    pid_t process() const noexcept { return process_; }
    /// Sends a signal on that came to us.
    void pass_on(const Arrived& signal) const;

private:
    bool own_group_;
    pid_t process_;
};

/// The exit code that says how a process ended: its own, or 128 and its signal.
int exit_code_of_status(int status);

}  // namespace holdfast::cli
