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
#include "stores/local/roster.hpp"
#include "stores/local/seat.hpp"

namespace holdfast::inline v0::local {

struct LocalOptions;

/// The files of a store as one client has them open, and the client's seat among them.
/// Threads: all members may be called from any thread.
class Premises {
public:
    /// Opens the store, starts it afresh when it is of another boot or an older version and nobody
    /// uses it, and sits down. Until
    /// close_door() nobody can start it afresh. Throws Error.
    Premises(const LocalOptions& options, const Member& self);

    const Folder& folder() const noexcept { return folder_; }
    Environment& environment() noexcept { return *environment_; }
    /// Has no seat of its own: what is_seated() and the like want.
    int control_file() const noexcept { return control_file_.get(); }

    void close_door() noexcept { seat_.close_door(); }

    /// A new descriptor that keeps the seat taken as long as it is open anywhere.
    int share_seat() const;

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
    Seat seat_;
    Control control_;
    std::optional<Environment> environment_;
    std::atomic<Moment> check_due_{Moment::min()};
};

}  // namespace holdfast::inline v0::local
