#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

#include <holdfast/hold.hpp>

#include "cli/boot_time.hpp"
#include "cli/descendants.hpp"
#include "cli/pact.hpp"
#include "cli/run_options.hpp"
#include "cli/signals.hpp"
#include "cli/steps.hpp"

namespace holdfast::cli {

/// What is to be said of the command's end.
enum class Verdict : std::uint8_t {
    none,           ///< it came by itself
    overdue,        ///< the lease would have ended
    lost,           ///< the hold had ended
    ignored_loss,   ///< the hold had ended, and the command went on as it was asked to
    warden_gone,    ///< nobody was left to end the command when we are gone
    took_too_long,  ///< --max-time
};

/// The children of the wrapper. Make it before any other child.
struct Children {
    Bystanders bystanders = {};
    pid_t warden = 0;
};

/// When a command must have ended, by what is known of its hold now.
BootTime must_end_by(const Hold& hold, std::chrono::nanoseconds lease);

/// The wrapper's watch over the running command: over its hold, its time and its warden. Has the
/// command ended, with all that it has started, when one of them fails; and decides what becomes of
/// what a command leaves behind that has ended.
class Supervision {
public:
    /// A watch over a command that is about to be started.
    Supervision(Hold& hold, const RunOptions& options, const Signals& signals, Pact& pact,
                Children& children, const Steps& steps);

    /// Watches until the command has ended, and what else had to. The command's status, as
    /// waitpid() has it. An exception ends the process here, before it can give the hold back
    /// under a command that lives: the warden has a share in it, and ends the command first.
    int until_end() noexcept;
    Verdict verdict() const noexcept { return verdict_; }
    /// Says why the command was ended, unless that was said already.
    void tell_verdict();
    /// The last signal that the terminal sent to the command as well; 0 if none.
    int terminal_signal() const noexcept { return terminal_signal_; }
    /// The same of one that found no command any more.
    int late_terminal_signal() const noexcept { return late_terminal_signal_; }

private:
    bool over() const;
    void wait_for_news();
    BootTime next_duty() const;
    void take_signals();
    void pass_on(const Arrived& signal);
    void take_late(const Arrived& signal);
    void stop(int signal);
    void look_at_command(BootTime now);
    void look_at_rest();
    void take_reports();
    void on_end(int status, bool rest);
    bool was_asked_to_end() const;
    void replace_warden();
    void take_wardens_place(BootTime kill_at);
    bool has_rest() const;
    void inherit();
    bool was_killed_with_warden(std::optional<int> status) const;

    void look_at_hold(BootTime now);
    void look_at_time(BootTime now);
    void on_loss();
    void end(Verdict why, BootTime kill_at);
    void end_rest();
    void end_all(BootTime kill_at);
    std::string_view reason() const;
    void tell_verdict(std::string_view consequence);
    void tell_out_of_reach();

    Hold& hold_;
    const RunOptions& options_;
    const Signals& signals_;
    Pact& pact_;
    Children& children_;
    const Steps& steps_;
    const bool in_terminal_;
    const Descriptor warden_;
    /// The command's process.
    const Descriptor command_;
    const std::chrono::nanoseconds lease_;
    const BootTime started_;

    bool command_ended_ = false;
    std::optional<int> status_;
    /// Whether what the command has left behind lives, and matters.
    bool rest_ = false;
    /// Whether the command was asked to end, by a signal that was passed on to it.
    bool asked_to_end_ = false;
    int terminal_signal_ = 0;
    int late_terminal_signal_ = 0;
    Verdict verdict_ = Verdict::none;
    bool told_ = false;
    bool ending_ = false;
    bool cleared_ = false;
    bool warden_gone_ = false;
    bool replaced_warden_ = false;
    /// When the warden must have done what it was asked to.
    BootTime warden_due_ = never;
    std::optional<Roundup> in_wardens_place_;
    BootTime next_look_{0};

    BootTimer timer_;
    Event lost_;
    std::stop_callback<std::function<void()>> on_lost_;
};

}  // namespace holdfast::cli
