#include "cli/descendants.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include <holdfast/error.hpp>

#include "cli/process_table.hpp"

namespace holdfast::cli {
namespace {

constexpr std::chrono::milliseconds shortest_pause{1};
constexpr std::chrono::milliseconds longest_pause{32};

/// A child that has ended, and is there still.
std::optional<siginfo_t> next_ended() {
    siginfo_t ended{};
    const bool looked = waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0;
    return looked && ended.si_pid != 0 ? std::optional(ended) : std::nullopt;
}

/// As waitpid() has it.
int status_in(const siginfo_t& ended) {
    if (ended.si_code == CLD_EXITED) return W_EXITCODE(ended.si_status, 0);
    return W_EXITCODE(0, ended.si_status) | (ended.si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

}  // namespace

void adopt_orphans() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (access(own_children_file().c_str(), R_OK) == 0) return;
    throw Error(errc::bad_configuration,
                own_children_file() +
                    " cannot be read: the command could not be ended when its hold is lost; "
                    "mount /proc");
}

std::optional<int> reap(pid_t child, const std::function<void(int)>& keep) {
    std::optional<int> found;
    while (const auto ended = next_ended()) {
        if (ended->si_pid == child) found = status_in(*ended);
        if (ended->si_pid == child && keep) keep(*found);
        waitpid(ended->si_pid, nullptr, WNOHANG);
    }
    return found;
}

bool has_children() noexcept {
    siginfo_t ended{};
    return waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0;
}

Bystanders::Bystanders() {
    for (const pid_t child : children_of(getpid()).value_or(std::vector<pid_t>())) take_in(child);
}

void Bystanders::take_in(pid_t child) {
    processes_.insert_or_assign(child, Descriptor::or_none(open_process(child)));
}

void Bystanders::look_again(pid_t warden, int warden_descriptor) {
    const auto children = children_of(getpid()).value_or(std::vector<pid_t>());
    // Asked afterwards: until now none of them can be an orphan of the command's.
    if (has_ended(warden_descriptor)) return;
    for (const pid_t child : children) {
        if (child != warden) take_in(child);
    }
}

bool Bystanders::have(pid_t child) const {
    const auto found = processes_.find(child);
    if (found == processes_.end()) return false;
    const int process = found->second.get();
    return process < 0 || !has_ended(process);
}

bool has_children_beside(const Bystanders& bystanders) {
    const auto children = children_of(getpid());
    // When they cannot be known: at least it is known whether there are any.
    if (!children) return has_children();
    return std::ranges::any_of(*children, [&](pid_t child) { return !bystanders.have(child); });
}

bool Roundup::is_spared(pid_t child, pid_t parent) const {
    return bystanders_ != nullptr && parent == getpid() && bystanders_->have(child);
}

bool Roundup::round() {
    last_round_ = boot_time_now();
    if (!kill_ && last_round_ >= kill_at_) {
        kill_ = true;
        pause_ = shortest_pause;
    }
    bool none_left = true;
    // Parents first: who is gone makes no more of them.
    std::vector<std::pair<pid_t, pid_t>> family{{getpid(), 0}};
    for (std::size_t i = 0; i < family.size(); ++i) {
        const auto [process, parent] = family[i];
        const auto children = children_of(process);
        if (!children) none_left = false;
        for (const pid_t child : children.value_or(std::vector<pid_t>())) {
            if (!is_spared(child, process)) family.emplace_back(child, process);
        }
        if (parent != 0 && reach(process, parent)) none_left = false;
    }
    pause_ = std::min(2 * pause_, longest_pause);
    next_round_ = last_round_ + pause_;
    if (!kill_) next_round_ = std::min(next_round_, kill_at_);
    return none_left;
}

/// Whether it is still there, and within reach.
bool Roundup::reach(pid_t process, pid_t parent) {
    const int opened = open_process(process);
    if (opened < 0) return errno != ESRCH;
    const Descriptor descriptor(opened);
    // One that nobody has waited for yet looks alive to others, and that is up to us.
    if (has_ended(opened)) return parent == getpid();
    // Asked after the opening: from here on the number cannot become another process's. One that
    // has just lost its parent is found again as our own child.
    const auto state = state_of(process);
    if (!state || state->parent != parent) return true;
    return signal(opened, process);
}

bool Roundup::signal(int process_descriptor, pid_t process) {
    if (kill_) {
        if (send_signal(process_descriptor, SIGKILL) || errno != EPERM) return true;
        out_of_reach_ = true;
        return false;
    }
    if (!told_.insert(process).second) return true;
    if (!send_signal(process_descriptor, SIGTERM)) return errno != EPERM;
    // A stopped one would not hear of it.
    send_signal(process_descriptor, SIGCONT);
    return true;
}

}  // namespace holdfast::cli
