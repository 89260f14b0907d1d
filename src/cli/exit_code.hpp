#pragma once

#include <functional>

#include <holdfast/error.hpp>

namespace holdfast::cli {

/// How the program ends when it is not the command's own code. The numbers of sysexits(3) and of
/// the shells.
enum ExitCode : int {
    success = 0,
    no_such_hold = 1,    ///< of `break`
    has_warnings = 1,    ///< of `check`
    promise_broken = 1,  ///< of `verify`
    usage = 64,
    unreachable = 69,
    internal_error = 70,
    not_written = 74,
    not_acquired = 75,
    hold_lost = 76,  ///< a command has run, and what it did may be half done
    bad_configuration = 78,
    timed_out = 124,
    cannot_execute = 126,
    command_not_found = 127,
    ended_by_signal = 128,  ///< plus the signal's number
};

ExitCode exit_code_of(const Error& error);

/// Does the work, which says how the program shall end. What it throws is told in one line and
/// decides instead.
int exit_code_of(const std::function<int()>& work);

}  // namespace holdfast::cli
