#include "port/thread.hpp"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <holdfast/error.hpp>

#include "port/fork.hpp"

namespace holdfast::inline v0 {

namespace {

/// A new thread has the mask of the one that makes it, from its first instruction on. What a thread
/// does to itself (a fault) is left to the application's handler.
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t set;
        sigfillset(&set);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
            sigdelset(&set, fault);
        }
        pthread_sigmask(SIG_SETMASK, &set, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
    sigset_t before_{};
};

/// The threads that run.
struct Running {
    ~Running() { close(ending); }
    std::mutex mutex;
    std::condition_variable fewer;
    std::size_t count = 0;
    const int ending = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
};

Running& running() {
    static PerProcess<Running> instance;
    return instance.get();
}

/// Of a thread of ours; a forked child's only thread is none, whichever forked it.
thread_local std::optional<ForkMark> ours;

/// A thread that counts, from before it is made until it has done its work.
class Counted {
public:
    Counted() {
        const std::lock_guard guard(running().mutex);
        ++running().count;
    }
    Counted(Counted&& other) noexcept : counts_(std::exchange(other.counts_, false)) {}
    Counted& operator=(Counted&&) = delete;
    ~Counted() {
        if (!counts_) return;
        const std::lock_guard guard(running().mutex);
        --running().count;
        running().fewer.notify_all();
    }

private:
    bool counts_ = true;
};

}  // namespace

bool on_thread_of_ours() noexcept {
    return ours && !ours->inherited();
}

int end_of_program() noexcept {
    return running().ending;
}

void await_threads(std::chrono::milliseconds at_most) noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto told = write(end_of_program(), &one, sizeof one);
    std::unique_lock lock(running().mutex);
    running().fewer.wait_for(lock, at_most,
                             [] { return running().count <= (on_thread_of_ours() ? 1U : 0U); });
}

std::thread start_thread(const char* name, Callback<void()> work) {
    const SignalsBlocked blocked;
    try {
        std::thread thread([counted = Counted(), work = std::move(work)]() mutable {
            ours.emplace();
            work();
            work = {};
        });
        pthread_setname_np(thread.native_handle(), name);
        return thread;
    } catch (const std::system_error& error) {
        throw Error(errc::unreachable, std::string("no thread can be started (") + error.what() +
                                           "); end some, or raise the limit (ulimit -u)");
    }
}

}  // namespace holdfast::inline v0
