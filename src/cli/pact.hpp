#pragma once

#include <sys/types.h>

#include <atomic>
#include <csignal>
#include <optional>

#include "cli/boot_time.hpp"
#include "cli/descriptor.hpp"

namespace holdfast::cli {

/// A signal that came to the warden.
struct Arrived {
    int number = 0;
    /// The terminal sent it, to our whole process group.
    bool from_terminal = false;
};

/// Of job control: the warden stops by it, as its shell expects.
constexpr bool is_stop(int signal) {
    return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/// What the two processes of `holdfast run` share: the warden, which the user has started and
/// knows, and the wrapper, its child, which holds the lock and runs the command. Each of them ends
/// the command when the other one is gone or stands still, so that a hold never ends before what
/// it guards.
class Pact {
public:
    Pact();
    ~Pact();
    Pact(const Pact&) = delete;
    Pact& operator=(const Pact&) = delete;

    /// Each side keeps its own end only, so that the other one's end is noticed.
    void become_warden() { wrappers_end_ = Descriptor(); }
    void become_wrapper() { wardens_end_ = Descriptor(); }

    // --- the warden's ---
    void pass_on(const Arrived& signal) const noexcept;
    /// When the command must have ended, unless the wrapper has moved this on by then.
    BootTime end_by() const noexcept { return BootTime(page_->end_by.load()); }
    /// The command's pid while it runs, else 0.
    pid_t command() const noexcept { return page_->command; }
    /// The signal that made the wrapper leave the line, or 0.
    int obeyed() const noexcept { return page_->obeyed; }
    /// Whether the wrapper is at it already to end the command.
    bool ending() const noexcept { return page_->ending; }

    // --- the wrapper's ---
    /// Readable when next() has something.
    int descriptor() const noexcept { return wrappers_end_.get(); }
    /// What the warden passed on; SIGKILL, once, when the warden itself is gone.
    std::optional<Arrived> next();
    void set_end_by(BootTime moment) noexcept { page_->end_by = moment.count(); }
    void set_command(pid_t process) noexcept { page_->command = process; }
    void set_obeyed(int signal) noexcept { page_->obeyed = signal; }
    void set_ending() noexcept { page_->ending = true; }
    /// Leaves a descriptor with the warden: open for as long as either of the two lives.
    void leave_with_warden(int descriptor) const;

private:
    struct Page {
        std::atomic<BootTime::rep> end_by{never.count()};
        std::atomic<pid_t> command{0};
        std::atomic<int> obeyed{0};
        std::atomic<bool> ending{false};
    };
    static_assert(std::atomic<BootTime::rep>::is_always_lock_free);

    Page* page_;
    Descriptor wardens_end_;
    Descriptor wrappers_end_;
};

}  // namespace holdfast::cli
