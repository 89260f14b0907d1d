#include "port/thread.hpp"

#include <pthread.h>
#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include <holdfast/error.hpp>

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

}  // namespace

std::thread start_thread(const char* name, Callback<void()> work) {
    const SignalsBlocked blocked;
    try {
        std::thread thread([work = std::move(work)]() mutable { work(); });
        pthread_setname_np(thread.native_handle(), name);
        return thread;
    } catch (const std::system_error& error) {
        throw Error(errc::unreachable, std::string("no thread can be started (") + error.what() +
                                           "); end some, or raise the limit (ulimit -u)");
    }
}

}  // namespace holdfast::inline v0
