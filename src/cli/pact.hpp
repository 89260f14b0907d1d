#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/boot_time.hpp"
#include "cli/descriptor.hpp"

namespace holdfast::cli {

/// What the processes of `holdfast run` share: the wrapper, which the user has started and which
/// holds the lock; the warden, its child, which outlives it; and the command's process, the
/// warden's child, which waits for the word to become the command.
class Pact {
public:
    /// What the wrapper asks of the warden.
    struct Order {
        enum class What : std::uint8_t {
            keep,   ///< the descriptor that comes along
            look,   ///< at end_by(): it was never before
            end,    ///< everything, by KILL at `kill_at`
            leave,  ///< what the command has left behind
        } what = What::keep;
        BootTime kill_at{0};
    };
    /// What the warden tells the wrapper.
    struct Report {
        enum class What : std::uint8_t {
            ready,         ///< the command's process waits for the word
            ended,         ///< the command, with `status`, and with a `rest` that lives or without
            out_of_reach,  ///< some may not be ended by us
            cleared,       ///< of the command and its descendants none is left within reach
            gone,          ///< the warden itself; nothing follows
        } what = What::gone;
        int status = 0;
        /// Then the warden stays until that has ended, or it is told to leave it.
        bool rest = false;
    };

    /// The command finds as many bytes of variables at the most.
    explicit Pact(std::size_t room_for_variables);
    ~Pact();
    Pact(const Pact&) = delete;
    Pact& operator=(const Pact&) = delete;

    /// Each keeps what is its own, so that the end of the others is noticed.
    void become_wrapper();
    void become_warden();
    void become_command();

    // --- the wrapper's ---
    /// Gives the word. The command's environment gets these, each as NAME=VALUE.
    void start(std::span<const std::string> variables);
    void send(const Order& order) const noexcept;
    std::optional<Report> next_report();
    enum class Readiness : std::uint8_t {
        ready,
        command_gone,  ///< the process that was to become the command
        warden_gone,   ///< or it says nothing
    };
    /// Waits until the command's process is there.
    Readiness readiness();
    /// Lets go of the others, who end then, if they have not yet.
    void dissolve();
    /// What the lease is, before the command starts.
    void set_lease(std::chrono::nanoseconds lease) noexcept { page_->lease = lease.count(); }
    /// Until when the hold can be trusted, unless this is moved on by then: from there on the
    /// command is not started, and with all but --on-lost ignore must have ended.
    void set_end_by(BootTime moment) noexcept { page_->end_by = moment.count(); }
    /// Leaves a descriptor with the warden: open for as long as either of the two lives.
    void leave_with_warden(int descriptor);
    bool shares_life() const noexcept { return shares_life_; }

    // --- the warden's ---
    void send(const Report& report) const noexcept;
    std::optional<Order> next_order();
    /// Whether the wrapper's end was seen by next_order().
    bool wrapper_gone() const noexcept { return wardens_end_.get() < 0; }
    std::chrono::nanoseconds lease() const noexcept {
        return std::chrono::nanoseconds(page_->lease.load());
    }
    BootTime end_by() const noexcept { return BootTime(page_->end_by.load()); }
    bool started() const noexcept { return page_->started; }
    void set_command(pid_t process) noexcept { page_->command = process; }
    /// Lets go of what was left with it.
    void let_go() noexcept { kept_ = Descriptor(); }
    void set_overdue() noexcept { page_->overdue = true; }
    /// What the command ended with. Nobody else can ask for it once the warden has.
    void set_status(int status) noexcept { page_->status = status; }

    // --- the command's ---
    /// Whether the word was given; otherwise the wrapper is gone.
    bool wait_for_start() const;
    std::vector<std::string> variables() const;
    void set_start_error(int error) noexcept { page_->start_error = error; }
    void set_too_late() noexcept { page_->too_late = true; }

    /// Readable when there is a report, or an order.
    int descriptor() const noexcept;
    pid_t command() const noexcept { return page_->command; }
    /// Whether the warden ended the command because end_by() came.
    bool overdue() const noexcept { return page_->overdue; }
    /// What the command ended with, if the warden knew before it ended itself.
    std::optional<int> status() const noexcept {
        const int status = page_->status;
        return status == no_status ? std::nullopt : std::optional(status);
    }
    /// Whether end_by() came before the command was started, which then it was not.
    bool too_late() const noexcept { return page_->too_late; }
    /// Why the command could not be started, or 0.
    int start_error() const noexcept { return page_->start_error; }

private:
    static constexpr int no_status = -1;
    struct Page {
        std::atomic<std::chrono::nanoseconds::rep> lease{0};
        std::atomic<BootTime::rep> end_by{never.count()};
        std::atomic<pid_t> command{0};
        std::atomic<int> start_error{0};
        std::atomic<int> status{no_status};
        std::atomic<bool> started{false};
        std::atomic<bool> overdue{false};
        std::atomic<bool> too_late{false};
        std::size_t variables_size = 0;
    };
    static_assert(std::atomic<BootTime::rep>::is_always_lock_free);

    char* variables_begin() const noexcept { return reinterpret_cast<char*>(page_ + 1); }

    std::size_t size_;
    Page* page_;
    Descriptor wrappers_end_;
    Descriptor wardens_end_;
    Descriptor word_given_;
    Descriptor word_heard_;
    Descriptor kept_;
    bool ready_ = false;
    bool shares_life_ = false;
};

}  // namespace holdfast::cli
