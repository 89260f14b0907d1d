#include "cli/run.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <system_error>

#include <holdfast/holdfast.hpp>

#include "cli/command.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/say.hpp"
#include "cli/signals.hpp"
#include "cli/store.hpp"

namespace holdfast::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// A signal ended the wait: to be obeyed once we are out of line.
struct StoppedWaiting {
    int signal;
};

/// The shared side of a read-write lock, and one permit of a semaphore, with a Mutex's verbs.
struct SharedSide {
    SharedMutex& mutex;
    Hold acquire(const std::stop_token& stop) { return mutex.acquire_shared(stop); }
    Attempt try_acquire() { return mutex.try_acquire_shared(); }
    Attempt try_acquire_for(std::chrono::nanoseconds patience, const std::stop_token& stop) {
        return mutex.try_acquire_shared_for(patience, stop);
    }
};
struct OnePermit {
    Semaphore& semaphore;
    Hold acquire(const std::stop_token& stop) { return semaphore.acquire(1, stop); }
    Attempt try_acquire() { return semaphore.try_acquire(); }
    Attempt try_acquire_for(std::chrono::nanoseconds patience, const std::stop_token& stop) {
        return semaphore.try_acquire_for(patience, 1, stop);
    }
};

std::string all_names(const RunOptions& options) {
    return fmt::format("{}", fmt::join(options.names, ", "));
}

template <class Lock>
Attempt wait_for(Lock& lock, const RunOptions& options, const std::stop_token& stop) {
    try {
        if (options.patience) return lock.try_acquire_for(*options.patience, stop);
        return lock.acquire(stop);
    } catch (const Error& error) {
        if (error.code() != errc::cancelled) throw;
        return {};
    }
}

template <class Lock>
Attempt take(Lock lock, const RunOptions& options, const Signals& signals) {
    // Mostly it is free: then there is no thread to be started for the signals.
    if (Attempt at_once = lock.try_acquire()) return at_once;
    if (options.patience == std::chrono::nanoseconds::zero()) return {};
    if (options.verbose) say(fmt::format("waiting for {}", all_names(options)));
    StopOnSignal stop(signals);
    Attempt attempt = wait_for(lock, options, stop.token());
    if (const auto signal = stop.finish()) throw StoppedWaiting{*signal};
    return attempt;
}

Attempt take(const Client& client, const RunOptions& options, const Signals& signals) {
    const std::string& name = options.names.front();
    if (options.names.size() > 1) {
        MultiLock locks = client.multi_lock(options.names, options.lock);
        return take<MultiLock&>(locks, options, signals);
    }
    if (options.slots) {
        Semaphore semaphore = client.semaphore(name, *options.slots, options.lock);
        return take(OnePermit{semaphore}, options, signals);
    }
    if (options.shared) {
        SharedMutex mutex = client.shared_mutex(name, options.lock);
        return take(SharedSide{mutex}, options, signals);
    }
    Mutex mutex = client.mutex(name, options.lock);
    return take<Mutex&>(mutex, options, signals);
}

/// In the order of the fences: sorted, each once.
std::vector<std::string> names_in_order(const RunOptions& options) {
    std::vector<std::string> names = options.names;
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

std::string owner_of(const Client& client, const RunOptions& options) {
    return options.lock.owner.empty() ? client.owner() : options.lock.owner;
}

std::vector<Variable> variables_for(const Client& client, const Hold& hold,
                                    const RunOptions& options) {
    return {
        {"HOLDFAST_NAME", fmt::format("{}", fmt::join(names_in_order(options), "\n"))},
        {"HOLDFAST_FENCE", fmt::format("{}", fmt::join(hold.fences(), "\n"))},
        {"HOLDFAST_OWNER", owner_of(client, options)},
        {"HOLDFAST_STORE", client.store()},
    };
}

const char* reason(Loss loss) {
    switch (loss) {
        case Loss::overdue:
            return "the store was not heard of in time";
        case Loss::ended:
            return "the store says that it ended";
        case Loss::inherited:
            return "it belongs to another process";
        case Loss::none:
            break;
    }
    return "the lease ran out";
}

void tell_loss(const Hold& hold, const char* consequence) {
    say(fmt::format("{}: hold with fence {} lost ({}); {}", hold.name(), hold.fence(),
                    reason(hold.loss()), consequence));
}

/// Watches over a running command until it has ended.
class Supervision {
public:
    Supervision(Command& command, const Hold& hold, const Signals& signals,
                SteadyClock::duration grace)
        : command_(command),
          hold_(hold),
          signals_(signals),
          grace_(grace),
          on_lost_(hold.lost(), [this] { lost_.set(); }) {}

    /// How the program shall end.
    int until_end() {
        std::optional<int> code;
        while (!(code = command_.ended())) {
            wait_for_news();
            while (const auto signal = signals_.next()) command_.pass_on(*signal);
            if (hold_.lost().stop_requested()) end_command();
        }
        // What the command left behind would go on without a hold.
        if (told_) command_.signal(SIGKILL);
        return told_ ? hold_lost : *code;
    }

private:
    void wait_for_news() {
        std::array<pollfd, 3> sources{pollfd{command_.descriptor(), POLLIN, 0},
                                      pollfd{signals_.descriptor(), POLLIN, 0},
                                      // Seen once is enough.
                                      pollfd{told_ ? -1 : lost_.descriptor(), POLLIN, 0}};
        poll(sources.data(), sources.size(), milliseconds_to_kill());
    }

    int milliseconds_to_kill() const {
        if (!told_ || killed_) return -1;
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(kill_at_ - SteadyClock::now());
        return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }

    void end_command() {
        if (!told_) {
            told_ = true;
            tell_loss(hold_, "ending the command");
            kill_at_ = SteadyClock::now() + grace_;
            command_.signal(SIGTERM);
        } else if (!killed_ && SteadyClock::now() >= kill_at_) {
            killed_ = true;
            command_.signal(SIGKILL);
        }
    }

    Command& command_;
    const Hold& hold_;
    const Signals& signals_;
    SteadyClock::duration grace_;
    SteadyClock::time_point kill_at_{};
    bool told_ = false;
    bool killed_ = false;
    Event lost_;
    std::stop_callback<std::function<void()>> on_lost_;
};

/// Gives the hold back. A command that came to its end after its lease did was not guarded.
int give_back(Hold& hold, int code) {
    if (code == hold_lost && hold.lost().stop_requested()) return code;
    const bool in_time = hold.held();
    if (in_time && hold.release() != Released::too_late) return code;
    tell_loss(hold, "the command has ended, but another holder may have run beside it");
    return hold_lost;
}

int run_under(Hold& hold, const Client& client, const RunOptions& options, const Signals& signals) {
    try {
        Command command(options.command, variables_for(client, hold, options),
                        signals.original_mask());
        const auto grace =
            std::min<SteadyClock::duration>(options.lock.lease / 4, std::chrono::seconds(10));
        return give_back(hold, Supervision(command, hold, signals, grace).until_end());
    } catch (const std::system_error& error) {
        if (dynamic_cast<const Error*>(&error) != nullptr) throw;
        say(fmt::format("{}: {}", options.command.front(), error.code().message()));
        return error.code() == std::errc::no_such_file_or_directory ? command_not_found
                                                                    : cannot_execute;
    }
}

/// $HOLDFAST_OWNER alone re-enters nothing, or siblings that run in parallel would not exclude each
/// other: it only names the owner for whoever asks to.
LockOptions with_inherited_owner(LockOptions lock) {
    const char* const inherited = std::getenv("HOLDFAST_OWNER");
    if (lock.reenter && lock.owner.empty() && inherited != nullptr) lock.owner = inherited;
    return lock;
}

int acquire_and_run(const RunOptions& options, const Signals& signals) {
    const auto started = SteadyClock::now();
    const Client client = connect_to(options.store);
    Attempt hold = take(client, options, signals);
    if (!hold) {
        if (options.verbose) say(fmt::format("{}: not acquired", all_names(options)));
        return options.conflict_exit_code;
    }
    if (options.verbose) {
        say(fmt::format("{}: acquired with fence {} after {}", all_names(options),
                        fmt::join(hold->fences(), ", "),
                        show_duration(SteadyClock::now() - started)));
    }
    return run_under(*hold, client, options, signals);
}

}  // namespace

int run(RunOptions options) {
    options.lock = with_inherited_owner(std::move(options.lock));
    // Ignored, as some parents leave it, it would hide how the command ended.
    std::signal(SIGCHLD, SIG_DFL);
    const Signals signals;
    try {
        return acquire_and_run(options, signals);
    } catch (const StoppedWaiting& stopped) {
        die_by(stopped.signal);
    }
}

}  // namespace holdfast::cli
