#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "cli/boot_time.hpp"
#include "cli/descriptor.hpp"

namespace holdfast::cli {

/// From now on the orphans among this process's descendants become its children, instead of those
/// of init, so that they can still be found. Throws Error when /proc does not tell who they are.
void adopt_orphans();

/// Lets all children go that have ended; the status of `child`, if it is one of them. Before that
/// one is let go its status is told to `keep`: it can be asked for once.
std::optional<int> reap(pid_t child, const std::function<void(int)>& keep = {});

/// Whether there is a child, be it ended or not. Whoever adopts orphans has no descendant without.
bool has_children() noexcept;

/// The children that this process finds itself with: made by the program that has become this one
/// (`./daemon & exec holdfast run ...`). They and what they start are nobody's to end or to wait
/// for.
class Bystanders {
public:
    Bystanders();
    /// Takes in what they have left behind, who have ended: the children that came since, while it
    /// was the warden that the command's orphans came to.
    void look_again(pid_t warden, int warden_descriptor);
    /// Whether it is one of them, and not another one that got the number of one that has ended.
    bool have(pid_t child) const;

private:
    void take_in(pid_t child);

    std::map<pid_t, Descriptor> processes_;
};

/// Whether there is another child.
bool has_children_beside(const Bystanders& bystanders);

/// Ends all descendants of this process, however deep and in whatever session or process group:
/// TERM, and KILL to those that are left at `kill_at`. Those that changed their user are out of
/// reach. Call round(), and again at next_round(), until it says that none is left.
class Roundup {
public:
    /// All but the bystanders, if there are any, and what they have started.
    explicit Roundup(BootTime kill_at, const Bystanders* bystanders = nullptr)
        : kill_at_(kill_at), bystanders_(bystanders) {}

    void kill_no_later_than(BootTime moment) {
        kill_at_ = std::min(kill_at_, moment);
        next_round_ = std::min(next_round_, std::max(kill_at_, last_round_ + pause_));
    }
    /// Whether none is left.
    bool round();
    BootTime next_round() const noexcept { return next_round_; }
    /// Whether it is past TERM.
    bool killing() const noexcept { return kill_; }
    /// Whether KILL was refused for one of them.
    bool out_of_reach() const noexcept { return out_of_reach_; }

private:
    bool is_spared(pid_t child, pid_t parent) const;
    bool reach(pid_t process, pid_t parent);
    bool signal(int process_descriptor, pid_t process);

    BootTime kill_at_;
    const Bystanders* bystanders_;
    bool kill_ = false;
    bool out_of_reach_ = false;
    std::set<pid_t> told_;
    std::chrono::milliseconds pause_{1};
    BootTime last_round_{0};
    BootTime next_round_{0};
};

}  // namespace holdfast::cli
