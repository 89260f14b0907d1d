#pragma once

#include <csignal>
#include <optional>

#include "cli/descriptor.hpp"

namespace holdfast::cli {

/// A signal that came to us.
struct Arrived {
    int number = 0;
    /// The terminal sent it, to our whole process group.
    bool from_terminal = false;
};

/// Thrown to be obeyed by die_by() once everything is cleaned up.
struct EndedBySignal {
    int signal;
};

/// Takes HUP, INT, QUIT, TERM, USR1, USR2, the stops of job control and CHLD out of the hands of
/// the kernel, so that they can be read, and gives them back when it goes. One that the process
/// was told to ignore (nohup) stays ignored. Make it before any thread exists: they all must have
/// the signals blocked. A forked child reads its own.
class Signals {
public:
    Signals();
    ~Signals() { restore(); }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    /// The next one that is here already.
    std::optional<Arrived> next() const;

    /// Does what those that are here already ask for. Throws EndedBySignal.
    void obey() const;

    /// Nobody is left to get them: what is here, and what comes yet, is lost.
    void ignore() const noexcept;

    /// Readable when next() has something.
    int descriptor() const noexcept { return descriptor_.get(); }
    /// Gives them back in a process that becomes the command: it shall start as we did.
    void restore() const noexcept;

private:
    sigset_t original_mask_{};
    struct sigaction original_child_action_ {};
    struct sigaction original_pipe_action_ {};
    Descriptor descriptor_;
};

/// Whether a signal is one of job control: our shell expects us to stop by it.
constexpr bool is_stop(int signal) {
    return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/// A write beyond `ulimit -f` fails, and can be told, instead of ending us by SIGXFSZ. By a
/// handler, for that ends with exec: the command starts as we did.
void fail_instead_of_dying_at_the_file_size_limit();

/// From now on this process, and whoever it starts, is not stopped by the terminal.
void ignore_stops();

/// Stops this process as the signal would have done, so that its shell sees it; returns when it is
/// continued.
void stop_by(int signal);

/// Ends this process as the signal would have done, so that its parent sees it.
[[noreturn]] void die_by(int signal);

}  // namespace holdfast::cli
