#pragma once

#include <functional>
#include <optional>
#include <stop_token>

#include <holdfast/hold.hpp>

#include "cli/boot_time.hpp"
#include "cli/command.hpp"
#include "cli/descendants.hpp"
#include "cli/pact.hpp"
#include "cli/run.hpp"
#include "cli/signals.hpp"

namespace holdfast::cli {

/// Why the command was ended before its time, or what is to be said about its end.
enum class Verdict : std::uint8_t {
    none,
    overdue,         ///< the lease would have ended
    lost,            ///< the hold had ended
    ignored_loss,    ///< the hold had ended, and the command went on as it was asked to
    warden_gone,     ///< the user's process was killed
    warden_stopped,  ///< the user's process stood still
    took_too_long,   ///< --max-time
};

/// When a command must have ended, by what is known of its hold now.
BootTime must_end_by(const Hold& hold, std::chrono::nanoseconds lease);

/// The wrapper's watch over the running command: over its hold, its time and its warden. Ends the
/// command, with all that it has started, when one of them fails.
class Supervision {
public:
    Supervision(const Command& command, const Hold& hold, const RunOptions& options,
                const Signals& signals, Pact& pact);

    /// Until it has ended: its exit code.
    int until_end();
    Verdict verdict() const noexcept { return verdict_; }

private:
    bool over() const { return code_ && (!ending_ || none_left_); }
    void wait_for_news();
    BootTime next_duty() const;
    void reap_command();
    void obey(const Arrived& arrived);

    void look_at_hold(BootTime now);
    void look_at_warden(BootTime now);
    void look_at_time(BootTime now);
    void on_loss();
    void end(Verdict why, BootTime kill_at);
    BootTime after_grace() const;
    BootTime at_once() const;

    const Command& command_;
    const Hold& hold_;
    const RunOptions& options_;
    const Signals& signals_;
    Pact& pact_;
    const std::chrono::nanoseconds lease_;
    const BootTime started_;

    std::optional<int> code_;
    Verdict verdict_ = Verdict::none;
    std::optional<Ending> ending_;
    bool none_left_ = false;
    BootTime next_look_{0};
    bool suspended_ = false;
    std::optional<BootTime> warden_stopped_at_;

    BootTimer timer_;
    Event lost_;
    std::stop_callback<std::function<void()>> on_lost_;
};

}  // namespace holdfast::cli
