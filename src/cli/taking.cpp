#include "cli/taking.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stop_token>
#include <thread>

#include <fmt/format.h>

#include "cli/progress.hpp"

namespace holdfast::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

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

/// While it lives, the first signal stops what has its token. Meanwhile it shows how the wait goes.
class StopOnSignal {
public:
    StopOnSignal(const Signals& signals, Progress& progress)
        : listener_([this, &signals, &progress] { listen(signals, progress); }) {}
    ~StopOnSignal() { finish(); }
    StopOnSignal(const StopOnSignal&) = delete;
    StopOnSignal& operator=(const StopOnSignal&) = delete;

    std::stop_token token() const { return stop_.get_token(); }

    /// Stops listening; the signal that came, if one did.
    std::optional<int> finish() {
        if (listener_.joinable()) {
            finished_.set();
            listener_.join();
        }
        return signal_;
    }

private:
    void listen(const Signals& signals, Progress& progress) {
        std::array<pollfd, 2> sources{pollfd{finished_.descriptor(), POLLIN, 0},
                                      pollfd{signals.descriptor(), POLLIN, 0}};
        while (sources[0].revents == 0) {
            poll(sources.data(), sources.size(), progress.milliseconds_to_next());
            progress.show();
            // A child that ends now is the warden's matter.
            if (const auto arrived = signals.next(); arrived && arrived->number != SIGCHLD) {
                signal_ = arrived->number;
                stop_.request_stop();
                return;
            }
        }
    }

    std::stop_source stop_;
    Event finished_;
    std::optional<int> signal_;
    std::thread listener_;
};

/// How long to wait from now on, when it began then.
std::optional<std::chrono::nanoseconds> patience_left(const RunOptions& options,
                                                      SteadyClock::time_point began) {
    if (!options.patience) return std::nullopt;
    const std::chrono::nanoseconds waited = SteadyClock::now() - began;
    return std::max(*options.patience - waited, std::chrono::nanoseconds::zero());
}

template <class Lock>
Attempt wait_for(Lock& lock, std::optional<std::chrono::nanoseconds> patience,
                 const std::stop_token& stop) {
    try {
        if (patience) return lock.try_acquire_for(*patience, stop);
        return lock.acquire(stop);
    } catch (const Error& error) {
        if (error.code() != errc::cancelled) throw;
        return {};
    }
}

template <class Lock>
Attempt take_when_free(Lock& lock, const Circumstances& here) {
    for (;;) {
        here.steps.tell("waiting for " + here.options.all_names());
        Progress progress(here.client, here.options);
        StopOnSignal stop(here.signals, progress);
        Attempt attempt = wait_for(lock, patience_left(here.options, here.began), stop.token());
        const auto signal = stop.finish();
        if (!signal) return attempt;
        if (!is_stop(*signal)) throw EndedBySignal{*signal};
        attempt = {};
        here.steps.tell("out of line while stopped");
        stop_by(*signal);
    }
}

/// Where there are none, there is no read-write lock either, and nobody that is a writer of one.
bool has_readers(const Client& client, const std::string& name) {
    try {
        // With the store's own fairness, so that it is refused for nothing else.
        static_cast<void>(client.shared_mutex(name));
        return true;
    } catch (const Error& error) {
        if (error.code() != errc::not_supported) throw;
        return false;
    }
}

/// Mostly it is free: then there is no thread to be started for the signals.
template <class Lock>
Attempt take_at_once(Lock& lock, const RunOptions& options) {
    try {
        return lock.try_acquire();
    } catch (const Error& error) {
        // Whoever named a time to wait waits for the store, too.
        const bool patient = options.patience > std::chrono::nanoseconds::zero();
        if (error.code() != errc::unreachable || !patient) throw;
        return {};
    }
}

template <class Lock>
Attempt take(Lock lock, const Circumstances& here) {
    if (Attempt at_once = take_at_once(lock, here.options)) return at_once;
    if (here.options.patience == std::chrono::nanoseconds::zero()) return {};
    return take_when_free(lock, here);
}

}  // namespace

Attempt take(const Circumstances& here) {
    const RunOptions& options = here.options;
    const std::string& name = options.names.front();
    if (options.names.size() > 1) {
        MultiLock locks = here.client.multi_lock(options.names, options.lock);
        return take<MultiLock&>(locks, here);
    }
    if (options.slots) {
        Semaphore semaphore = here.client.semaphore(name, *options.slots, options.lock);
        return take(OnePermit{semaphore}, here);
    }
    if (options.side == Side::shared) {
        SharedMutex mutex = here.client.shared_mutex(name, options.lock);
        return take(SharedSide{mutex}, here);
    }
    if (options.side == Side::exclusive && has_readers(here.client, name)) {
        SharedMutex mutex = here.client.shared_mutex(name, options.lock);
        return take<SharedMutex&>(mutex, here);
    }
    Mutex mutex = here.client.mutex(name, options.lock);
    return take<Mutex&>(mutex, here);
}

}  // namespace holdfast::cli
