#include "cli/warden.hpp"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/process_table.hpp"
#include "cli/say.hpp"

namespace holdfast::cli {
namespace {

constexpr std::chrono::seconds last_chance{1};

}  // namespace

Warden::Warden(pid_t wrapper, const RunOptions& options, const Signals& signals, Pact& pact)
    : wrapper_(wrapper), options_(options), signals_(signals), pact_(pact) {}

int Warden::watch() {
    while (!wrapper_status_) {
        wait_for_news(takeover());
        take_signals();
        if (!wrapper_status_ && boot_time_now() >= takeover()) return replace_wrapper();
    }
    return conclude();
}

void Warden::wait_for_news(BootTime until) {
    timer_.set(until);
    std::array<pollfd, 2> sources{pollfd{signals_.descriptor(), POLLIN, 0},
                                  pollfd{timer_.descriptor(), POLLIN, 0}};
    poll(sources.data(), sources.size(), -1);
}

void Warden::take_signals() {
    while (const auto arrived = signals_.next()) {
        if (arrived->number == SIGCHLD) {
            if (const auto status = reap(wrapper_)) wrapper_status_ = status;
            continue;
        }
        if (arrived->from_terminal) terminal_signal_ = arrived->number;
        pact_.pass_on(*arrived);
        if (!is_stop(arrived->number)) continue;
        stop_by(arrived->number);
        pact_.pass_on({.number = SIGCONT});
    }
}

/// When the command is ended from here, because the wrapper should have done it and did not.
BootTime Warden::takeover() const {
    const BootTime end_by = pact_.end_by();
    if (end_by == never || options_.on_lost == OnLost::kill || pact_.ending()) return end_by;
    return end_by - options_.kill_after_or_default() * 3 / 4;
}

int Warden::replace_wrapper() {
    end_all(pact_.end_by());
    // Perhaps it was only slow, or is about to tell why it could not renew.
    if (wait_for_wrapper(boot_time_now() + last_chance)) return conclude();
    kill(wrapper_, SIGKILL);
    say(
        fmt::format("{}: the process that held it stands still; ended the command before its "
                    "lease did",
                    options_.all_names()));
    return hold_lost;
}

int Warden::conclude() {
    if (const int signal = pact_.obeyed()) die_by(signal);
    if (WIFSIGNALED(*wrapper_status_)) return replace_killed_wrapper(WTERMSIG(*wrapper_status_));
    const int code = WEXITSTATUS(*wrapper_status_);
    // A shell that waits for us wants to see it: it ends a loop then.
    if (terminal_signal_ != 0 && code == ended_by_signal + terminal_signal_) {
        die_by(terminal_signal_);
    }
    return code;
}

int Warden::replace_killed_wrapper(int signal) {
    const bool had_command = pact_.end_by() != never || pact_.command() != 0;
    if (options_.on_lost == OnLost::ignore) {
        outlive_command();
    } else {
        const BootTime grace = options_.on_lost == OnLost::kill
                                   ? BootTime::zero()
                                   : options_.kill_after.value_or(shortest_grace);
        end_all(std::min(boot_time_now() + grace, pact_.end_by()));
    }
    say(fmt::format("{}: the process that held it was ended by signal {}{}", options_.all_names(),
                    signal, had_command ? "; so was the command" : ""));
    return had_command ? hold_lost : internal_error;
}

bool Warden::wait_for_wrapper(BootTime until) {
    while (!wrapper_status_ && boot_time_now() < until && !is_stopped(wrapper_)) {
        wait_for_news(until);
        take_signals();
    }
    return wrapper_status_.has_value();
}

/// Until none is left.
void Warden::end_all(BootTime kill_at) {
    Ending ending(kill_at, wrapper_);
    while (!ending.round()) {
        wait_for_news(ending.next_round());
        take_signals();
    }
}

void Warden::outlive_command() const {
    const pid_t command = pact_.command();
    int status = 0;
    while (command != 0 && waitpid(command, &status, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace holdfast::cli
