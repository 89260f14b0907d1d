#include "stores/local/processes_ahead.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <utility>

#include "stores/local/pulse.hpp"

namespace holdfast::inline v0::local {

namespace {

/// Opening a descriptor costs more than a hand-off: those in a busy line come again.
constexpr std::size_t most_idle = 64;

int open_pidfd(pid_t pid) {
    return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

}  // namespace

ProcessesAhead::ProcessesAhead(int epoll, int control_file, const ProcessIdentity& self)
    : epoll_(epoll), control_file_(control_file), self_(self) {}

ProcessesAhead::~ProcessesAhead() = default;

std::vector<ClientId> ProcessesAhead::follow(const Nonce& waiter, std::uint64_t turn,
                                             std::span<const Registrant> ahead,
                                             const std::function<bool()>& still_wanted) {
    std::vector<ClientId> dead;
    const std::lock_guard guard(mutex_);
    const auto known = waiters_.find(waiter);
    if (known != waiters_.end() && known->second.turn > turn) return dead;
    if (!still_wanted()) return dead;
    Followed followed{.turn = turn, .ahead = {}};
    for (const Registrant& registrant : ahead) {
        // A client of this very process cannot end without taking its leave.
        if (is_own(registrant)) continue;
        if (see(registrant)) {
            followed.ahead.push_back(registrant.id);
        } else {
            dead.push_back(registrant.id);
        }
    }
    if (known != waiters_.end()) let_go(known->second);
    if (!followed.ahead.empty()) {
        waiters_.insert_or_assign(waiter, std::move(followed));
    } else if (known != waiters_.end()) {
        waiters_.erase(known);
    }
    return dead;
}

void ProcessesAhead::forget(const Nonce& waiter) {
    const std::lock_guard guard(mutex_);
    const auto known = waiters_.find(waiter);
    if (known == waiters_.end()) return;
    let_go(known->second);
    waiters_.erase(known);
}

/// Counts one more follower; false when the client is dead.
bool ProcessesAhead::see(const Registrant& registrant) {
    auto seen = seen_.find(registrant.id);
    if (seen == seen_.end()) {
        Descriptor process = open_process(registrant);
        if (!process && is_dead(registrant, control_file_, self_.pid_namespace)) return false;
        seen = seen_.emplace(registrant.id, Seen{registrant, std::move(process), 0}).first;
        ++idle_;
    }
    if (seen->second.followers++ == 0) --idle_;
    return true;
}

/// None when the process cannot be watched, or is not there.
Descriptor ProcessesAhead::open_process(const Registrant& registrant) const {
    if (!registrant.process.is_in(self_.pid_namespace)) return {};
    Descriptor process(open_pidfd(registrant.process.pid));
    // Asked after the opening: from here on the pid cannot become another one's.
    if (!process || start_time_of(registrant.process.pid) != registrant.process.start_time)
        return {};
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = registrant.id;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, process.get(), &event) != 0) return {};
    return process;
}

void ProcessesAhead::let_go(const Followed& followed) {
    for (const ClientId id : followed.ahead) {
        const auto seen = seen_.find(id);
        if (seen == seen_.end() || --seen->second.followers > 0) continue;
        ++idle_;
        if (!seen->second.process) drop(seen);
    }
    if (idle_ > most_idle) drop_idle();
}

void ProcessesAhead::drop_idle() {
    for (auto seen = seen_.begin(); seen != seen_.end();) {
        const auto here = seen++;
        if (here->second.followers == 0) drop(here);
    }
}

void ProcessesAhead::drop(std::unordered_map<ClientId, Seen>::iterator seen) {
    if (seen->second.followers == 0) --idle_;
    // A forked child's copy would keep it in the set if it were merely closed.
    if (seen->second.process) {
        epoll_ctl(epoll_, EPOLL_CTL_DEL, seen->second.process.get(), nullptr);
    }
    seen_.erase(seen);
}

bool ProcessesAhead::ended(ClientId client) {
    const std::lock_guard guard(mutex_);
    const auto seen = seen_.find(client);
    if (seen == seen_.end()) return false;
    // That its process has ended is certain, whoever keeps its pulse for the moment.
    const bool outlived = seen->second.registrant.dead_when == DeadWhen::pulse_over;
    if (!outlived || !has_pulse(control_file_, client)) return true;
    look_only(seen->second);
    return false;
}

void ProcessesAhead::look_only(ClientId client) {
    const std::lock_guard guard(mutex_);
    const auto seen = seen_.find(client);
    if (seen != seen_.end()) look_only(seen->second);
}

void ProcessesAhead::look_only(Seen& seen) {
    if (!seen.process) return;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, seen.process.get(), nullptr);
    seen.process = Descriptor();
}

std::vector<Nonce> ProcessesAhead::behind(ClientId client) const {
    std::vector<Nonce> waiters;
    const std::lock_guard guard(mutex_);
    for (const auto& [waiter, followed] : waiters_) {
        if (std::ranges::find(followed.ahead, client) != followed.ahead.end()) {
            waiters.push_back(waiter);
        }
    }
    return waiters;
}

void ProcessesAhead::remove(ClientId client) {
    const std::lock_guard guard(mutex_);
    const auto seen = seen_.find(client);
    if (seen != seen_.end()) drop(seen);
}

std::vector<ClientId> ProcessesAhead::look() {
    std::vector<ClientId> dead;
    const std::lock_guard guard(mutex_);
    for (const auto& [id, seen] : seen_) {
        if (!seen.process && is_dead(seen.registrant, control_file_, self_.pid_namespace)) {
            dead.push_back(id);
        }
    }
    return dead;
}

bool ProcessesAhead::has_to_look() const {
    const std::lock_guard guard(mutex_);
    return std::ranges::any_of(seen_, [](const auto& one) { return !one.second.process; });
}

}  // namespace holdfast::inline v0::local
