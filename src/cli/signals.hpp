#pragma once

#include <csignal>
#include <optional>
#include <stop_token>
#include <thread>

#include "cli/descriptor.hpp"

namespace holdfast::cli {

/// Takes HUP, INT, QUIT, TERM, USR1 and USR2 out of the hands of the kernel, so that they can be
/// read, and gives them back when it goes. One that the process was told to ignore (nohup) stays
/// ignored. Make it before any thread exists: they all must have the signals blocked.
class Signals {
public:
    Signals();
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    struct Arrived {
        int number = 0;
        /// The terminal sent it, to our whole process group.
        bool from_terminal = false;
    };
    /// The next one that is here already.
    std::optional<Arrived> next() const;

    /// Readable when next() has something.
    int descriptor() const noexcept { return descriptor_.get(); }
    /// What the command shall start with.
    const sigset_t& original_mask() const noexcept { return original_mask_; }

private:
    sigset_t original_mask_{};
    Descriptor descriptor_;
};

/// While it lives, the first signal stops what has its token.
class StopOnSignal {
public:
    explicit StopOnSignal(const Signals& signals);
    ~StopOnSignal();
    StopOnSignal(const StopOnSignal&) = delete;
    StopOnSignal& operator=(const StopOnSignal&) = delete;

    std::stop_token token() const { return stop_.get_token(); }
    /// Stops listening; the signal that came, if one did.
    std::optional<int> finish();

private:
    void listen(const Signals& signals);

    std::stop_source stop_;
    Event finished_;
    std::optional<int> signal_;
    std::thread listener_;
};

/// A write beyond `ulimit -f` fails, and can be told, instead of ending us by SIGXFSZ. By a
/// handler, for that ends with exec: the command starts as we did.
void fail_instead_of_dying_at_the_file_size_limit();

/// Ends this process as the signal would have done, so that its parent sees it.
[[noreturn]] void die_by(int signal);

}  // namespace holdfast::cli
