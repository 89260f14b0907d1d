#include "cli/signals.hpp"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "cli/exit_code.hpp"

namespace holdfast::cli {
namespace {

constexpr std::array read_by_us{SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                SIGUSR2, SIGTSTP, SIGTTIN, SIGTTOU, SIGCHLD};

bool is_ignored(int signal) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    return now.sa_handler == SIG_IGN;
}

sigset_t set_of(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    return set;
}

sigset_t wanted_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : read_by_us) {
        // A blocked signal reaches a signalfd although it is ignored.
        if (!is_ignored(signal)) sigaddset(&set, signal);
    }
    return set;
}

}  // namespace

Signals::Signals() {
    // Ignored, as some parents leave it, it would hide how the command ended.
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    standard.sa_flags = SA_NOCLDSTOP;
    sigaction(SIGCHLD, &standard, &original_child_action_);
    // Whoever read our lines may be gone: that is no reason to leave a command alone.
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignored, &original_pipe_action_);
    const sigset_t wanted = wanted_signals();
    pthread_sigmask(SIG_BLOCK, &wanted, &original_mask_);
    descriptor_ = Descriptor(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

void Signals::restore() const noexcept {
    sigaction(SIGCHLD, &original_child_action_, nullptr);
    sigaction(SIGPIPE, &original_pipe_action_, nullptr);
    pthread_sigmask(SIG_SETMASK, &original_mask_, nullptr);
}

std::optional<Arrived> Signals::next() const {
    signalfd_siginfo info{};
    if (read(descriptor_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    const int number = static_cast<int>(info.ssi_signo);
    // A hang-up comes to the leader of the session alone.
    const bool to_group = number == SIGINT || number == SIGQUIT;
    return Arrived{.number = number, .from_terminal = to_group && info.ssi_code == SI_KERNEL};
}

void Signals::obey() const {
    while (const auto arrived = next()) {
        if (is_stop(arrived->number))
            stop_by(arrived->number);
        else if (arrived->number != SIGCHLD)
            throw EndedBySignal{arrived->number};
    }
}

void Signals::ignore() const noexcept {
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    for (const int signal : read_by_us) {
        // Of a child that has ended we want to know still.
        if (signal != SIGCHLD) sigaction(signal, &ignored, nullptr);
    }
}

void fail_instead_of_dying_at_the_file_size_limit() {
    if (is_ignored(SIGXFSZ)) return;
    struct sigaction nothing {};
    nothing.sa_handler = [](int) {};
    nothing.sa_flags = SA_RESTART;
    sigaction(SIGXFSZ, &nothing, nullptr);
}

void ignore_stops() {
    for (const int signal : read_by_us) {
        if (is_stop(signal)) std::signal(signal, SIG_IGN);
    }
}

void stop_by(int signal) {
    const sigset_t set = set_of(signal);
    raise(signal);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void die_by(int signal) {
    // By SIGQUIT our core would take the place of the command's.
    prctl(PR_SET_DUMPABLE, 0);
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
    const sigset_t set = set_of(signal);
    raise(signal);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    std::_Exit(ended_by_signal + signal);
}

}  // namespace holdfast::cli
