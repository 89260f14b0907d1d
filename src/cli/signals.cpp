#include "cli/signals.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "cli/exit_code.hpp"

namespace holdfast::cli {
namespace {

constexpr std::array forwarded{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

bool is_ignored(int signal) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    return now.sa_handler == SIG_IGN;
}

sigset_t wanted_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : forwarded) {
        // A blocked signal reaches a signalfd although it is ignored.
        if (!is_ignored(signal)) sigaddset(&set, signal);
    }
    return set;
}

}  // namespace

Signals::Signals() {
    const sigset_t wanted = wanted_signals();
    pthread_sigmask(SIG_BLOCK, &wanted, &original_mask_);
    descriptor_ = Descriptor(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

Signals::~Signals() {
    pthread_sigmask(SIG_SETMASK, &original_mask_, nullptr);
}

std::optional<Signals::Arrived> Signals::next() const {
    signalfd_siginfo info{};
    if (read(descriptor_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return Arrived{.number = static_cast<int>(info.ssi_signo),
                   .from_terminal = info.ssi_code == SI_KERNEL};
}

StopOnSignal::StopOnSignal(const Signals& signals)
    : listener_([this, &signals] { listen(signals); }) {}

StopOnSignal::~StopOnSignal() {
    finish();
}

std::optional<int> StopOnSignal::finish() {
    if (listener_.joinable()) {
        finished_.set();
        listener_.join();
    }
    return signal_;
}

void StopOnSignal::listen(const Signals& signals) {
    std::array<pollfd, 2> sources{pollfd{signals.descriptor(), POLLIN, 0},
                                  pollfd{finished_.descriptor(), POLLIN, 0}};
    while (sources[1].revents == 0) {
        poll(sources.data(), sources.size(), -1);
        if (sources[0].revents == 0) continue;
        if (const auto arrived = signals.next()) {
            signal_ = arrived->number;
            stop_.request_stop();
            return;
        }
    }
}

void fail_instead_of_dying_at_the_file_size_limit() {
    if (is_ignored(SIGXFSZ)) return;
    struct sigaction nothing {};
    nothing.sa_handler = [](int) {};
    nothing.sa_flags = SA_RESTART;
    sigaction(SIGXFSZ, &nothing, nullptr);
}

void die_by(int signal) {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    raise(signal);
    std::_Exit(ended_by_signal + signal);
}

}  // namespace holdfast::cli
