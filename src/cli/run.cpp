#include "cli/run.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cli/descendants.hpp"
#include "cli/exit_code.hpp"
#include "cli/pact.hpp"
#include "cli/signals.hpp"
#include "cli/warden.hpp"
#include "cli/wrapper.hpp"

namespace holdfast::cli {
namespace {

/// $HOLDFAST_OWNER alone re-enters nothing, or siblings that run in parallel would not exclude each
/// other: it only names the owner for whoever asks to.
LockOptions with_inherited_owner(LockOptions lock) {
    const char* const inherited = std::getenv("HOLDFAST_OWNER");
    if (lock.reenter && lock.owner.empty() && inherited != nullptr) lock.owner = inherited;
    return lock;
}

[[noreturn]] void become_wrapper(const RunOptions& options, const Signals& signals, Pact& pact) {
    pact.become_wrapper();
    const pid_t group = getpgrp();
    // What is sent to all of the job shall not reach the one that has to look after it.
    setpgid(0, 0);
    adopt_orphans();
    std::_Exit(exit_code_of([&] { return wrap(options, signals, pact, group); }));
}

}  // namespace

std::string RunOptions::all_names() const {
    return fmt::format("{}", fmt::join(names, ", "));
}

int run(RunOptions options) {
    options.lock = with_inherited_owner(std::move(options.lock));
    adopt_orphans();
    const Signals signals;
    Pact pact;
    const pid_t wrapper = fork();
    if (wrapper < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (wrapper == 0) become_wrapper(options, signals, pact);
    pact.become_warden();
    return Warden(wrapper, options, signals, pact).watch();
}

}  // namespace holdfast::cli
