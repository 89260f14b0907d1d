#include "cli/supervision.hpp"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include "cli/command.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/format.hpp"
#include "cli/loss.hpp"
#include "cli/output.hpp"
#include "cli/process_table.hpp"

namespace holdfast::cli {
namespace {

/// What is left of the lease, and no more, for the killing itself.
constexpr std::chrono::nanoseconds reserve(std::chrono::nanoseconds lease) {
    return lease / 20;
}

/// A renewal is due when so much is left of the lease.
constexpr std::chrono::nanoseconds left_when_renewed(std::chrono::nanoseconds lease) {
    return lease * 3 / 5;
}

/// How soon it is looked again for a renewal that is due.
constexpr std::chrono::nanoseconds between_questions(std::chrono::nanoseconds lease) {
    return lease / 50;
}

constexpr std::chrono::hours while_stopped{24};
constexpr std::chrono::milliseconds patience_to_stop{200};

constexpr std::chrono::nanoseconds patience_with_warden(std::chrono::nanoseconds lease) {
    return std::min<std::chrono::nanoseconds>(lease / 20, std::chrono::seconds{1});
}

/// Whether a signal that is passed on asks the command to end: whoever sends one of these wants an
/// end of it all.
bool asks_to_end(int signal) {
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

}  // namespace

BootTime must_end_by(const Hold& hold, std::chrono::nanoseconds lease) {
    // The clock first: a pause in between makes it too early, not too late.
    const BootTime now = boot_time_now();
    return now + hold.remaining() - reserve(lease);
}

Supervision::Supervision(Hold& hold, const RunOptions& options, const Signals& signals, Pact& pact,
                         Children& children, const Steps& steps)
    : hold_(hold),
      options_(options),
      signals_(signals),
      pact_(pact),
      children_(children),
      steps_(steps),
      in_terminal_(has_terminal()),
      warden_(open_process(children.warden)),
      command_(open_process(pact.command())),
      lease_(pact.lease()),
      started_(boot_time_now()),
      on_lost_(hold.lost(), [this] { lost_.set(); }) {
    children_.bystanders.look_again(children_.warden, warden_.get());
}

int Supervision::until_end() noexcept {
    steps_.tell(formatted("started {} as process {}", options_.command.front(), pact_.command()));
    for (;;) {
        take_reports();
        const BootTime now = boot_time_now();
        look_at_hold(now);
        look_at_time(now);
        look_at_command(now);
        look_at_rest();
        if (over()) return status_.value_or(0);
        wait_for_news();
        take_signals();
    }
}

bool Supervision::over() const {
    if (in_wardens_place_) return cleared_;
    return status_ && ((!ending_ && !rest_) || cleared_);
}

void Supervision::wait_for_news() {
    timer_.set(next_duty());
    // Seen once is enough of the last two.
    std::array<pollfd, 5> sources{
        pollfd{signals_.descriptor(), POLLIN, 0}, pollfd{pact_.descriptor(), POLLIN, 0},
        pollfd{timer_.descriptor(), POLLIN, 0},
        pollfd{command_ended_ ? -1 : command_.get(), POLLIN, 0},
        pollfd{verdict_ == Verdict::none ? lost_.descriptor() : -1, POLLIN, 0}};
    poll(sources.data(), sources.size(), -1);
}

BootTime Supervision::next_duty() const {
    BootTime next = next_look_;
    next = std::min(next, in_wardens_place_ ? in_wardens_place_->next_round() : warden_due_);
    if (options_.max_time && !ending_) next = std::min(next, started_ + *options_.max_time);
    return next;
}

void Supervision::take_signals() {
    while (const auto arrived = signals_.next()) {
        if (is_stop(arrived->number)) {
            stop(arrived->number);
        } else if (arrived->number == SIGCHLD) {
            children_.bystanders.look_again(children_.warden, warden_.get());
        } else {
            pass_on(*arrived);
        }
    }
}

void Supervision::pass_on(const Arrived& signal) {
    if (status_) return take_late(signal);
    if (signal.from_terminal) terminal_signal_ = signal.number;
    // What the terminal sends to our group has reached a command in it already.
    if (signal.from_terminal && in_terminal_) return;
    if (asks_to_end(signal.number)) asked_to_end_ = true;
    send_signal(command_.get(), signal.number);
}

/// The command has ended, and what it left behind is waited for.
void Supervision::take_late(const Arrived& signal) {
    if (signal.from_terminal) late_terminal_signal_ = signal.number;
    if (!ending_ && (signal.from_terminal || asks_to_end(signal.number))) end_rest();
}

/// Like any job (Ctrl-Z), and the lock is kept meanwhile, where a store would notice our death: on
/// another one nobody shall wait for an abandoned terminal for longer than a lease.
void Supervision::stop(int signal) {
    const BootTime limit = boot_time_now() + patience_to_stop;
    while (pact_.shares_life() && !hold_.lengthen(while_stopped) && boot_time_now() < limit) {
        // A renewal is on its way: it is over in a moment.
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    pact_.set_end_by(must_end_by(hold_, lease_));
    stop_by(signal);
    // At once: the next renewal has the old lease again.
    look_at_hold(boot_time_now());
}

/// That it has ended we see ourselves; how, the warden tells. If it does not, the command's status
/// comes to us once the warden is gone.
void Supervision::look_at_command(BootTime now) {
    if (const auto status = reap(pact_.command())) on_end(*status, has_rest());
    if (!command_ended_ && has_ended(command_.get())) {
        command_ended_ = true;
        if (!status_) warden_due_ = std::min(warden_due_, now + patience_with_warden(lease_));
    }
    if (now >= warden_due_ && !over()) replace_warden();
}

/// Looks after what the command has started in the place of a warden that is gone.
void Supervision::look_at_rest() {
    if (in_wardens_place_) {
        cleared_ = in_wardens_place_->round();
        if (in_wardens_place_->out_of_reach()) tell_out_of_reach();
    } else if (warden_gone_ && rest_) {
        cleared_ = !has_rest();
    }
}

void Supervision::take_reports() {
    while (const auto report = pact_.next_report()) {
        switch (report->what) {
            case Pact::Report::What::ended:
                on_end(report->status, report->rest);
                break;
            case Pact::Report::What::out_of_reach:
                tell_out_of_reach();
                break;
            case Pact::Report::What::cleared:
                cleared_ = true;
                break;
            case Pact::Report::What::gone:
                if (!over()) inherit();
                break;
            case Pact::Report::What::ready:
                break;
        }
    }
    if (pact_.overdue() && verdict_ == Verdict::none) {
        verdict_ = Verdict::overdue;
        ending_ = true;
    }
}

/// What it left behind is ended if somebody wanted an end of it all.
void Supervision::on_end(int status, bool rest) {
    // What the terminal has ended it by is here by now.
    take_signals();
    status_ = status;
    if (pact_.start_error() == 0) {
        steps_.tell(formatted("the command ended with code {}", exit_code_of_status(status)));
    }
    if (!rest || ending_) return;
    if (options_.leftovers == Leftovers::end || was_asked_to_end()) {
        rest_ = true;
        end_rest();
    } else if (options_.leftovers == Leftovers::wait) {
        rest_ = true;
        steps_.tell("waiting for what it left behind");
    } else {
        pact_.send(Pact::Order{.what = Pact::Order::What::leave});
    }
}

/// Whether the command ended by a signal that was passed on; or by the terminal's, if it was that
/// what ended it: many commands live on with a Ctrl-C.
bool Supervision::was_asked_to_end() const {
    const bool by_terminal = terminal_signal_ != 0 &&
                             exit_code_of_status(*status_) == ended_by_signal + terminal_signal_;
    return asked_to_end_ || by_terminal;
}

/// It stands still.
void Supervision::replace_warden() {
    warden_due_ = never;
    replaced_warden_ = true;
    kill(children_.warden, SIGKILL);
    if (ending_) take_wardens_place(boot_time_now());
}

void Supervision::take_wardens_place(BootTime kill_at) {
    in_wardens_place_.emplace(kill_at, &children_.bystanders);
}

bool Supervision::has_rest() const {
    return has_children_beside(children_.bystanders);
}

/// The warden is gone: its orphans are ours as soon as it has ended altogether.
void Supervision::inherit() {
    warden_gone_ = true;
    warden_due_ = never;
    while (waitpid(children_.warden, nullptr, 0) < 0 && errno == EINTR) {
    }
    auto status = reap(pact_.command());
    if (!status && !status_) status = pact_.status();
    if (!status_ && was_killed_with_warden(status)) {
        if (verdict_ == Verdict::none) verdict_ = Verdict::warden_gone;
        ending_ = true;
    }
    if (status) on_end(*status, has_rest());
    if (ending_ && !in_wardens_place_ && !over()) {
        take_wardens_place(boot_time_now() + options_.kill_after_loss());
    }
}

/// Whether the command was killed because its warden was. Not if it is let go on; nor if it had
/// ended before, and only the warden had not told.
bool Supervision::was_killed_with_warden(std::optional<int> status) const {
    if (options_.on_lost == OnLost::ignore || replaced_warden_) return false;
    return !status || (WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL);
}

/// Notes until when the hold can be trusted, for the others.
void Supervision::look_at_hold(BootTime now) {
    if (!hold_.held() || hold_.lost().stop_requested()) return on_loss();
    next_look_ = now + std::clamp(hold_.remaining() - left_when_renewed(lease_),
                                  between_questions(lease_), lease_ - left_when_renewed(lease_));
    // Lengthened, it may be short again at any moment; never shorter than by a renewal from now on.
    const BootTime by_renewal = now + lease_ - 2 * reserve(lease_);
    pact_.set_end_by(std::min(must_end_by(hold_, lease_), by_renewal));
}

void Supervision::on_loss() {
    next_look_ = never;
    if (options_.on_lost != OnLost::ignore) {
        return end(Verdict::lost, boot_time_now() + options_.kill_after_loss());
    }
    // One that was not started does not go on.
    if (verdict_ != Verdict::none || pact_.too_late()) return;
    verdict_ = Verdict::ignored_loss;
    tell_verdict("the command goes on without it (--on-lost ignore)");
}

void Supervision::look_at_time(BootTime now) {
    if (!options_.max_time || ending_ || now < started_ + *options_.max_time) return;
    end(Verdict::took_too_long, now + options_.kill_after_or_default(lease_));
}

/// Ends the command for the first reason that there is; a later one may only make it faster.
void Supervision::end(Verdict why, BootTime kill_at) {
    if (status_ && !ending_ && !rest_) return;
    if (verdict_ == Verdict::none) verdict_ = why;
    end_all(kill_at);
}

/// No reason to blame the command: its own code stands.
void Supervision::end_rest() {
    steps_.tell("ending what it left behind");
    end_all(boot_time_now() + options_.kill_after_or_default(lease_));
}

void Supervision::end_all(BootTime kill_at) {
    ending_ = true;
    if (in_wardens_place_) return in_wardens_place_->kill_no_later_than(kill_at);
    if (warden_gone_) return take_wardens_place(kill_at);
    warden_due_ = std::min(warden_due_, kill_at + patience_with_warden(lease_));
    pact_.send(Pact::Order{.what = Pact::Order::What::end, .kill_at = kill_at});
}

std::string_view Supervision::reason() const {
    if (verdict_ == Verdict::warden_gone) return "the process that guarded it was killed";
    if (verdict_ == Verdict::overdue) return "it was not renewed in time";
    return reason_of_loss(hold_);
}

void Supervision::tell_verdict() {
    const bool too_long = verdict_ == Verdict::took_too_long;
    tell_verdict(rest_ ? "ended what it had left behind"
                       : (too_long ? "ended it" : "ended the command"));
}

void Supervision::tell_verdict(std::string_view consequence) {
    if (std::exchange(told_, true)) return;
    if (verdict_ == Verdict::took_too_long) {
        say(formatted("{}: the command took longer than {}; {}", options_.all_names(),
                      show_duration(*options_.max_time), consequence));
    } else if (verdict_ != Verdict::none) {
        tell_loss(hold_, reason(), consequence);
    } else {
        say(formatted("{}: {}", options_.all_names(), consequence));
    }
}

/// Tells of one that KILL does not reach. At once: it may be long until such a one ends.
void Supervision::tell_out_of_reach() {
    tell_verdict(has_ended(command_.get())
                     ? "ended the command, but not what has another user by now"
                     : "the command cannot be ended, for it has another user by now");
}

}  // namespace holdfast::cli
