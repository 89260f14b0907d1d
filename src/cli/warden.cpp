#include "cli/warden.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "cli/command.hpp"
#include "cli/format.hpp"
#include "cli/output.hpp"

namespace holdfast::cli {
namespace {

pid_t make_command(const RunOptions& options, const Signals& signals, Pact& pact) {
    const pid_t warden = getpid();
    const pid_t command = fork();
    if (command < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (command == 0) become_command(options, signals, pact, warden);
    pact.set_command(command);
    pact.send(Pact::Report{.what = Pact::Report::What::ready});
    return command;
}

/// Whether a line on standard error would not stand before a full pipe, or a Ctrl-S.
bool is_listened_to() {
    constexpr int milliseconds = 100;
    pollfd lines{STDERR_FILENO, POLLOUT, 0};
    return poll(&lines, 1, milliseconds) != 0;
}

}  // namespace

Warden::Warden(const RunOptions& options, const Signals& signals, Pact& pact)
    : options_(options),
      signals_(signals),
      pact_(pact),
      command_(make_command(options, signals, pact)) {
    // What is sent to all of the job shall not reach the one that has to look after it. A session
    // and not only a group: as a parent beside the job it would pass for the shell that continues
    // it, and Ctrl-Z would stop, and a dead shell leave stopped, what nobody can continue.
    setsid();
}

void Warden::watch() {
    while (!over()) {
        wait_for_news();
        take_signals();
        take_orders();
        look_at_wrapper();
        look_at_family();
    }
    if (none_left_) tell_end();
}

bool Warden::over() const {
    return command_ended_ && (dismissed_ || none_left_);
}

void Warden::tell_end() {
    pact_.send(Pact::Report{.what = Pact::Report::What::cleared});
    if (!wrapper_gone_ || !ending_) return;
    // The next holder waits for this process, and nobody may be reading what it says.
    pact_.let_go();
    if (!is_listened_to()) return;
    say(formatted("{}: holdfast was killed; {}", options_.all_names(),
                  ending_->out_of_reach()
                      ? "ended the command, but not what has another user by now"
                      : "ended the command"));
}

void Warden::wait_for_news() {
    timer_.set(std::min(next_look(), ending_ ? ending_->next_round() : never));
    std::array<pollfd, 3> sources{pollfd{signals_.descriptor(), POLLIN, 0},
                                  pollfd{pact_.descriptor(), POLLIN, 0},
                                  pollfd{timer_.descriptor(), POLLIN, 0}};
    poll(sources.data(), sources.size(), -1);
}

/// All but the end of a child is for the wrapper, which the user knows.
void Warden::take_signals() {
    while (signals_.next()) {
    }
    const auto status = reap(command_, [this](int ended_with) { pact_.set_status(ended_with); });
    if (!status) return;
    command_ended_ = true;
    const bool rest = has_children();
    // Mostly there is none, and nothing to wait for.
    if (!rest && !ending_) dismissed_ = true;
    pact_.send(Pact::Report{.what = Pact::Report::What::ended, .status = *status, .rest = rest});
}

void Warden::take_orders() {
    while (const auto order = pact_.next_order()) {
        if (order->what == Pact::Order::What::end) end(order->kill_at);
        if (order->what == Pact::Order::What::leave) dismissed_ = true;
    }
    if (wrapper_gone_ || !pact_.wrapper_gone()) return;
    wrapper_gone_ = true;
    if (options_.on_lost == OnLost::ignore) std::_Exit(0);
    // Without a command there is nobody but the process that waits to become it, and knows.
    const BootTime kill_at = boot_time_now() + options_.kill_after_loss();
    if (pact_.started()) return end(std::min(kill_at, pact_.end_by()));
    // That one may be stopped, and would never know.
    if (!command_ended_) kill(command_, SIGKILL);
}

/// Whoever does not renew in time, stopped or cut off, has lost its hold.
void Warden::look_at_wrapper() {
    if (boot_time_now() < next_look()) return;
    if (!ending_) pact_.set_overdue();
    end(pact_.end_by());
}

void Warden::look_at_family() {
    if (!ending_) {
        if (command_ended_) none_left_ = !has_children();
        return;
    }
    if (boot_time_now() < ending_->next_round()) return;
    const bool within_reach = !ending_->out_of_reach();
    none_left_ = ending_->round();
    if (within_reach && ending_->out_of_reach()) {
        pact_.send(Pact::Report{.what = Pact::Report::What::out_of_reach});
    }
}

/// When TERM is due, or KILL if it was sent already for another reason.
BootTime Warden::next_look() const {
    const BootTime end_by = pact_.end_by();
    if (end_by == never || options_.on_lost == OnLost::ignore) return never;
    if (ending_ && ending_->killing()) return never;
    const bool gently = options_.on_lost == OnLost::term && !ending_;
    return gently ? end_by - options_.kill_after_or_default(pact_.lease()) : end_by;
}

/// Once begun it goes on, but not for longer than a later reason allows.
void Warden::end(BootTime kill_at) {
    if (dismissed_) return;
    if (!ending_) ending_.emplace(kill_at);
    ending_->kill_no_later_than(kill_at);
}

}  // namespace holdfast::cli
