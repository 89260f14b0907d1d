#include "cli/supervision.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>

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
constexpr std::chrono::nanoseconds between_looks(std::chrono::nanoseconds lease) {
    return lease / 50;
}

/// So long the warden may be stopped without a word (SIGSTOP).
constexpr std::chrono::nanoseconds patience_with_warden(std::chrono::nanoseconds lease) {
    return lease / 3;
}

}  // namespace

BootTime must_end_by(const Hold& hold, std::chrono::nanoseconds lease) {
    // The clock first: a pause in between makes it too early, not too late.
    const BootTime now = boot_time_now();
    return now + hold.remaining() - reserve(lease);
}

Supervision::Supervision(const Command& command, const Hold& hold, const RunOptions& options,
                         const Signals& signals, Pact& pact)
    : command_(command),
      hold_(hold),
      options_(options),
      signals_(signals),
      pact_(pact),
      lease_(options.lock.lease),
      started_(boot_time_now()),
      on_lost_(hold.lost(), [this] { lost_.set(); }) {
    pact_.set_command(command.process());
}

int Supervision::until_end() {
    for (;;) {
        const BootTime now = boot_time_now();
        look_at_hold(now);
        look_at_warden(now);
        look_at_time(now);
        if (ending_ && now >= ending_->next_round()) none_left_ = ending_->round();
        if (over()) break;
        wait_for_news();
        while (const auto arrived = pact_.next()) obey(*arrived);
        reap_command();
    }
    pact_.set_end_by(never);
    pact_.set_command(0);
    return *code_;
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
    if (ending_) next = std::min(next, ending_->next_round());
    if (options_.max_time && !ending_) next = std::min(next, started_ + *options_.max_time);
    return next;
}

/// What comes to the wrapper itself is not its user's: that one knows the warden.
void Supervision::reap_command() {
    bool child_ended = false;
    while (const auto arrived = signals_.next()) child_ended |= arrived->number == SIGCHLD;
    if (!child_ended) return;
    if (const auto status = reap(command_.process())) code_ = exit_code_of_status(*status);
    // Its pid is free for another process from here on.
    if (code_) pact_.set_command(0);
}

void Supervision::obey(const Arrived& arrived) {
    if (is_stop(arrived.number) || arrived.number == SIGCONT) {
        suspended_ = is_stop(arrived.number);
    } else if (arrived.number == SIGKILL) {
        if (options_.on_lost != OnLost::ignore) end(Verdict::warden_gone, at_once());
    } else if (!code_) {
        command_.pass_on(arrived);
    }
}

/// Notes until when the hold can be trusted, for the warden too, and ends the command in time.
void Supervision::look_at_hold(BootTime now) {
    if (!hold_.held() || hold_.lost().stop_requested()) return on_loss();
    const auto remaining = hold_.remaining();
    next_look_ = now + std::max(remaining - left_when_renewed(lease_), between_looks(lease_));
    if (options_.on_lost == OnLost::ignore) return;
    const BootTime end_by = must_end_by(hold_, lease_);
    pact_.set_end_by(end_by);
    const bool gently = options_.on_lost == OnLost::term;
    const BootTime begin = gently ? end_by - options_.kill_after_or_default() : end_by;
    if (now >= begin) return end(Verdict::overdue, end_by);
    next_look_ = std::min(next_look_, begin);
}

void Supervision::on_loss() {
    next_look_ = never;
    pact_.set_end_by(never);
    if (options_.on_lost != OnLost::ignore) return end(Verdict::lost, at_once());
    if (verdict_ == Verdict::none) verdict_ = Verdict::ignored_loss;
}

/// Who stands still cannot watch over us, so that our end would not be the command's.
void Supervision::look_at_warden(BootTime now) {
    if (options_.on_lost == OnLost::ignore || suspended_ || pact_.descriptor() < 0 ||
        !is_stopped(getppid())) {
        warden_stopped_at_.reset();
        return;
    }
    if (!warden_stopped_at_) warden_stopped_at_ = now;
    const BootTime limit = *warden_stopped_at_ + patience_with_warden(lease_);
    if (now >= limit) end(Verdict::warden_stopped, after_grace());
    next_look_ = std::min(next_look_, std::max(limit, now + between_looks(lease_)));
}

void Supervision::look_at_time(BootTime now) {
    if (!options_.max_time || now < started_ + *options_.max_time) return;
    end(Verdict::took_too_long, now + options_.kill_after_or_default());
}

/// Once begun it goes on, for the first reason, but not for longer than a later one allows.
void Supervision::end(Verdict why, BootTime kill_at) {
    if (code_ && !ending_) return;
    if (!ending_) {
        verdict_ = why;
        ending_.emplace(kill_at);
        pact_.set_ending();
    }
    ending_->kill_no_later_than(kill_at);
}

/// When KILL follows on TERM while the hold stands, and when it does not.
BootTime Supervision::after_grace() const {
    const bool gently = options_.on_lost == OnLost::term;
    return boot_time_now() + (gently ? options_.kill_after_or_default() : BootTime::zero());
}
BootTime Supervision::at_once() const {
    const bool gently = options_.on_lost == OnLost::term;
    return boot_time_now() +
           (gently ? options_.kill_after.value_or(shortest_grace) : BootTime::zero());
}

}  // namespace holdfast::cli
