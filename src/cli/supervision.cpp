#include "cli/supervision.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <thread>

#include "cli/loss.hpp"

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
constexpr std::chrono::nanoseconds between_looks(std::chrono::nanoseconds lease) {
    return lease / 50;
}

constexpr std::chrono::hours while_stopped{24};
constexpr std::chrono::milliseconds patience_to_stop{200};
constexpr std::chrono::seconds patience_with_warden{1};

}  // namespace

BootTime must_end_by(const Hold& hold, std::chrono::nanoseconds lease) {
    // The clock first: a pause in between makes it too early, not too late.
    const BootTime now = boot_time_now();
    return now + hold.remaining() - reserve(lease);
}

Supervision::Supervision(Hold& hold, const RunOptions& options, const Signals& signals, Pact& pact)
    : hold_(hold),
      options_(options),
      signals_(signals),
      pact_(pact),
      lease_(options.lock.lease),
      started_(boot_time_now()),
      on_lost_(hold.lost(), [this] { lost_.set(); }) {}

int Supervision::until_end() {
    for (;;) {
        take_reports();
        const BootTime now = boot_time_now();
        look_at_hold(now);
        look_at_time(now);
        if (now >= warden_due_) replace_warden();
        if (in_wardens_place_) cleared_ = in_wardens_place_->round();
        if (over()) return status_.value_or(0);
        wait_for_news();
        take_signals();
    }
}

bool Supervision::over() const {
    if (in_wardens_place_) return cleared_;
    return status_ && (!ending_ || cleared_);
}

void Supervision::wait_for_news() {
    timer_.set(next_duty());
    std::array<pollfd, 4> sources{
        pollfd{signals_.descriptor(), POLLIN, 0}, pollfd{pact_.descriptor(), POLLIN, 0},
        pollfd{timer_.descriptor(), POLLIN, 0},
        // Seen once is enough.
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
        if (arrived->number == SIGCHLD) {
            // Ours, if the warden is gone.
            if (const auto status = reap(pact_.command())) status_ = status;
        } else if (is_stop(arrived->number)) {
            stop(arrived->number);
        } else {
            if (arrived->from_terminal) terminal_signal_ = arrived->number;
            pact_.send(Pact::Order{.what = Pact::Order::What::pass_on, .signal = *arrived});
        }
    }
}

/// Like any job (Ctrl-Z), and the lock is kept meanwhile, where a store would notice our death: on
/// another one nobody shall wait for an abandoned terminal for longer than a lease.
void Supervision::stop(int signal) {
    const BootTime limit = boot_time_now() + patience_to_stop;
    while (pact_.shares_life() && !hold_.lengthen(while_stopped) && boot_time_now() < limit) {
        // A renewal is on its way: it is over in a moment.
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    look_at_hold(boot_time_now());
    stop_by(signal);
}

void Supervision::take_reports() {
    while (const auto report = pact_.next_report()) {
        switch (report->what) {
            case Pact::Report::What::ended:
                status_ = report->status;
                break;
            case Pact::Report::What::cleared:
                cleared_ = true;
                break;
            case Pact::Report::What::gone:
                if (!over()) replace_warden();
                break;
        }
    }
    if (pact_.overdue() && verdict_ == Verdict::none) {
        verdict_ = Verdict::overdue;
        ending_ = true;
    }
}

/// It was killed, and its orphans are ours now; or it stands still, and is ended with the rest.
void Supervision::replace_warden() {
    warden_due_ = never;
    if (options_.on_lost == OnLost::ignore) return;
    if (verdict_ == Verdict::none) verdict_ = Verdict::warden_gone;
    in_wardens_place_.emplace(at_once());
}

/// Notes until when the hold can be trusted, for the warden.
void Supervision::look_at_hold(BootTime now) {
    if (!hold_.held() || hold_.lost().stop_requested()) return on_loss();
    next_look_ = now + std::clamp(hold_.remaining() - left_when_renewed(lease_),
                                  between_looks(lease_), lease_ - left_when_renewed(lease_));
    if (options_.on_lost != OnLost::ignore) pact_.set_end_by(must_end_by(hold_, lease_));
}

void Supervision::on_loss() {
    next_look_ = never;
    if (options_.on_lost != OnLost::ignore) return end(Verdict::lost, at_once());
    if (verdict_ != Verdict::none) return;
    verdict_ = Verdict::ignored_loss;
    tell_loss(hold_, reason_of_loss(hold_), "the command goes on without it (--on-lost ignore)");
}

void Supervision::look_at_time(BootTime now) {
    if (!options_.max_time || ending_ || now < started_ + *options_.max_time) return;
    end(Verdict::took_too_long, now + options_.kill_after_or_default());
}

/// For the first reason that there is; a later one may only make it faster.
void Supervision::end(Verdict why, BootTime kill_at) {
    if (status_ && !ending_) return;
    if (verdict_ == Verdict::none) verdict_ = why;
    ending_ = true;
    if (!in_wardens_place_) warden_due_ = std::min(warden_due_, kill_at + patience_with_warden);
    pact_.send(Pact::Order{.what = Pact::Order::What::end, .kill_at = kill_at});
}

/// When KILL follows on TERM where the hold does not stand any more.
BootTime Supervision::at_once() const {
    const bool gently = options_.on_lost == OnLost::term;
    return boot_time_now() +
           (gently ? options_.kill_after.value_or(shortest_grace) : BootTime::zero());
}

}  // namespace holdfast::cli
