#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "cli/descriptor.hpp"
#include "cli/signals.hpp"

namespace holdfast::cli {

/// A variable of the command's environment.
struct Variable {
    std::string name;
    std::string value;
};

/// The command that runs under a hold. In the foreground of a terminal it stays in our process
/// group, so that it can read the terminal; otherwise it leads one of its own, so that all of it
/// can be ended.
class Command {
public:
    /// Starts it. Throws std::system_error when it cannot be executed.
    Command(const std::vector<std::string>& words, const std::vector<Variable>& variables,
            const sigset_t& mask);

    /// Readable when it has ended.
    int descriptor() const noexcept { return descriptor_.get(); }
    /// Its exit code, or 128 and its signal, once it has ended.
    std::optional<int> ended();

    void pass_on(const Signals::Arrived& signal) const;
    /// Sends a signal to all of its process group, or to it alone when that is ours too.
    void signal(int number) const;

private:
    bool own_group_;
    pid_t process_;
    Descriptor descriptor_;
};

}  // namespace holdfast::cli
