#include "cli/command.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cli/boot_time.hpp"
#include "cli/exit_code.hpp"

namespace holdfast::cli {
namespace {

std::string_view name_of(std::string_view variable) {
    return variable.substr(0, variable.find('='));
}

/// Ours, and of what we found the rest.
std::vector<std::string> environment_with(std::vector<std::string> variables) {
    const std::size_t ours = variables.size();
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const auto end = variables.begin() + static_cast<std::ptrdiff_t>(ours);
        if (std::find_if(variables.begin(), end, [&](const std::string& variable) {
                return name_of(variable) == name_of(*entry);
            }) == end) {
            variables.emplace_back(*entry);
        }
    }
    return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

/// Has this process ended by the kernel with its warden, so that it does not go on alone when the
/// wrapper and the warden are killed at one moment. What it has started then is in nobody's hands.
void end_with(pid_t warden) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // It may have ended before the kernel was told.
    if (getppid() != warden) std::_Exit(success);
}

}  // namespace

bool has_terminal() {
    const int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (terminal >= 0) close(terminal);
    return terminal >= 0;
}

void become_command(const RunOptions& options, const Signals& signals, Pact& pact, pid_t warden) {
    pact.become_command();
    if (options.on_lost != OnLost::ignore) end_with(warden);
    // Before the word: what the terminal sends until then is kept for the command.
    if (!has_terminal()) setpgid(0, 0);
    auto words = options.command;
    if (!pact.wait_for_start()) std::_Exit(success);
    // The wrapper, or this process, may have stood still: the word was good before.
    if (pact.end_by() <= boot_time_now()) {
        pact.set_too_late();
        std::_Exit(success);
    }
    auto environment = environment_with(pact.variables());
    signals.restore();
    execvpe(words.front().c_str(), pointers_to(words).data(), pointers_to(environment).data());
    pact.set_start_error(errno);
    std::_Exit(command_not_found);
}

int exit_code_of_status(int status) {
    return WIFSIGNALED(status) ? ended_by_signal + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace holdfast::cli
