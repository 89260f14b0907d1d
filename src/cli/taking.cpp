#include "cli/taking.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <stop_token>
#include <thread>

#include "cli/connecting.hpp"
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

/// How long a signal waits for a store before it is obeyed all the same.
constexpr int patience_once_signalled = 1000;

/// While it lives, the first signal stops what has its token.
class StopOnSignal {
public:
    explicit StopOnSignal(const Signals& signals)
        : listener_([this, &signals] { listen(signals); }) {}
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
    void listen(const Signals& signals) {
        std::array<pollfd, 2> sources{pollfd{finished_.descriptor(), POLLIN, 0},
                                      pollfd{signals.descriptor(), POLLIN, 0}};
        while (sources[0].revents == 0) {
            poll(sources.data(), sources.size(), -1);
            // A child that ends now is the warden's matter.
            if (const auto arrived = signals.next(); arrived && arrived->number != SIGCHLD) {
                return obey(arrived->number);
            }
        }
    }

    /// What is stopped leaves the line. If even that is too much for the store, its lease is for
    /// that.
    void obey(int signal) {
        signal_ = signal;
        stop_.request_stop();
        if (is_stop(signal)) return;
        pollfd finished{finished_.descriptor(), POLLIN, 0};
        if (poll(&finished, 1, patience_once_signalled) == 0) die_by(signal);
    }

    std::stop_source stop_;
    Event finished_;
    std::optional<int> signal_;
    std::thread listener_;
};

/// While it lives, it shows how the wait goes. On a thread of its own: a look at the store takes as
/// long as the store likes.
class ShownProgress {
public:
    explicit ShownProgress(const Circumstances& here) : progress_(here.client, here.options) {
        if (progress_.milliseconds_to_next() < 0) return;
        shower_ = std::thread([this] { show(); });
    }
    ~ShownProgress() {
        if (!shower_.joinable()) return;
        finished_.set();
        shower_.join();
    }
    ShownProgress(const ShownProgress&) = delete;
    ShownProgress& operator=(const ShownProgress&) = delete;

private:
    void show() {
        pollfd finished{finished_.descriptor(), POLLIN, 0};
        while (poll(&finished, 1, progress_.milliseconds_to_next()) == 0) progress_.show();
    }

    Progress progress_;
    Event finished_;
    std::thread shower_;
};

/// What `take(token)` has taken. Stopped like any job it lets go of that, and takes it again when
/// it is continued.
template <class Take>
Attempt unless_signalled(const Circumstances& here, Take take) {
    for (;;) {
        StopOnSignal stop(here.signals);
        Attempt attempt;
        std::exception_ptr failure;
        try {
            attempt = take(stop.token());
        } catch (const Error&) {
            failure = std::current_exception();
        }
        // While the signal is still listened to, for it waits for the store.
        if (stop.token().stop_requested()) attempt = {};
        const auto signal = stop.finish();
        if (!signal && failure) std::rethrow_exception(failure);
        if (!signal) return attempt;
        if (!is_stop(*signal)) throw EndedBySignal{*signal};
        attempt = {};
        here.steps.tell("out of line while stopped");
        stop_by(*signal);
    }
}

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
    return unless_signalled(here, [&](const std::stop_token& stop) {
        here.steps.tell("waiting for " + here.options.all_names());
        const ShownProgress shown(here);
        return wait_for(lock, patience_left(here.options, here.began), stop);
    });
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

/// Mostly it is free: then nothing need be said of any waiting.
template <class Lock>
Attempt take_at_once(Lock& lock, const Circumstances& here) {
    try {
        // Not worth a thread that hears signals.
        if (is_on_this_machine(here.options.store)) return lock.try_acquire();
        return unless_signalled(here, [&](const std::stop_token& stop) {
            return lock.try_acquire_for(std::chrono::nanoseconds::zero(), stop);
        });
    } catch (const Error& error) {
        // Whoever named a time to wait waits for the store, too.
        const bool patient = here.options.patience > std::chrono::nanoseconds::zero();
        if (error.code() != errc::unreachable || !patient) throw;
        return {};
    }
}

template <class Lock>
Attempt take(Lock lock, const Circumstances& here) {
    if (Attempt at_once = take_at_once(lock, here)) return at_once;
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

void give_back(Hold& hold, int signal) {
    Event given_back;
    std::thread limit([&] {
        pollfd finished{given_back.descriptor(), POLLIN, 0};
        if (poll(&finished, 1, patience_once_signalled) == 0) die_by(signal);
    });
    hold.release();
    given_back.set();
    limit.join();
}

}  // namespace holdfast::cli
