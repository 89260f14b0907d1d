#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "port/clock.hpp"
#include "port/fork.hpp"
#include "stores/local/control.hpp"
#include "stores/local/descriptor.hpp"
#include "stores/local/environment.hpp"
#include "stores/local/folder.hpp"
#include "stores/local/pulse.hpp"
#include "stores/local/registry.hpp"

namespace holdfast::inline v0::local {

/// The files of a store as one client has them open, and the client's pulse in one of them.
/// Threads: all members may be called from any thread.
class Premises {
public:
    /// Opens the store, starts it afresh when it is of another boot or an older version and nobody
    /// uses it, and starts the pulse. Until close_door() nobody can start it afresh. Throws Error.
    Premises(const LocalOptions& options, const Registrant& self);

    const Folder& folder() const noexcept { return folder_; }
    Environment& environment() noexcept { return *environment_; }
    /// A description without a pulse of its own: what has_pulse() and the like want.
    int control_file() const noexcept { return control_file_.get(); }

    void close_door() noexcept { pulse_.close_door(); }

    /// A new descriptor that keeps the pulse going as long as it is open anywhere.
    int share_pulse() const;

    /// Throws Error when the files were removed: then new clients have others. Looks now and then
    /// only, because a system call each time would cost more than all the rest.
    void check(Moment now) {
        if (now >= check_due_.load(std::memory_order_relaxed)) look_for_files(now);
    }

private:
    void open(std::chrono::milliseconds patience);
    bool belongs_together() const;
    bool is_of_this_clock() const;
    void prepare(const std::string& boot);
    void look_for_files(Moment now);

    Folder folder_;
    ClosedInChild control_file_;
    Pulse pulse_;
    Control control_;
    std::optional<Environment> environment_;
    std::atomic<Moment> check_due_{Moment::min()};
};

}  // namespace holdfast::inline v0::local
