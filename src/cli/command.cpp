#include "cli/command.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>

#include "cli/exit_code.hpp"

namespace holdfast::cli {
namespace {

bool in_terminals_foreground() {
    const int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0) return false;
    const bool foreground = tcgetpgrp(terminal) == getpgrp();
    close(terminal);
    return foreground;
}

std::vector<std::string> environment_with(const std::vector<Variable>& variables) {
    std::vector<std::string> result;
    result.reserve(variables.size());
    for (const Variable& variable : variables) {
        result.push_back(variable.name + "=" + variable.value);
    }
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::string_view name = text.substr(0, text.find('='));
        if (std::ranges::find(variables, name, &Variable::name) == variables.end()) {
            result.emplace_back(text);
        }
    }
    return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

/// posix_spawn instead of fork: it does not copy our pages, and nothing of ours runs in the child.
/// Gives the error's number, or 0.
int spawn(pid_t& process, std::vector<std::string> words, std::vector<std::string> environment,
          const sigset_t& mask, bool own_group) {
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &mask);
    posix_spawnattr_setpgroup(&attributes, 0);
    const int flags = POSIX_SPAWN_SETSIGMASK | (own_group ? POSIX_SPAWN_SETPGROUP : 0);
    posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
    const int error = posix_spawnp(&process, words.front().c_str(), nullptr, &attributes,
                                   pointers_to(words).data(), pointers_to(environment).data());
    posix_spawnattr_destroy(&attributes);
    return error;
}

bool is_executable_file(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           access(path.c_str(), X_OK) == 0;
}

/// The file that execvp() would have found.
std::string found_in_path(const std::string& word) {
    const char* const path = std::getenv("PATH");
    if (path == nullptr || word.find('/') != std::string::npos) return word;
    std::istringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string file = (folder.empty() ? "." : folder) + "/" + word;
        if (is_executable_file(file)) return file;
    }
    return word;
}

/// A script without a #! runs in the shell, as with execvp() and so with flock(1); posix_spawnp()
/// does not see to that.
pid_t spawn_or_interpret(std::vector<std::string> words,
                         const std::vector<std::string>& environment, const sigset_t& mask,
                         bool own_group) {
    pid_t process = 0;
    int error = spawn(process, words, environment, mask, own_group);
    if (error == ENOEXEC) {
        words.front() = found_in_path(words.front());
        words.insert(words.begin(), "/bin/sh");
        error = spawn(process, words, environment, mask, own_group);
    }
    if (error != 0) throw std::system_error(error, std::generic_category());
    return process;
}

/// glibc 2.36 declares pidfd_open() for C alone.
int open_process(pid_t process) {
    return static_cast<int>(syscall(SYS_pidfd_open, process, 0));
}

}  // namespace

Command::Command(const std::vector<std::string>& words, const std::vector<Variable>& variables,
                 const sigset_t& mask)
    : own_group_(!in_terminals_foreground()),
      process_(spawn_or_interpret(words, environment_with(variables), mask, own_group_)),
      descriptor_(open_process(process_)) {}

std::optional<int> Command::ended() {
    int status = 0;
    pid_t answer = 0;
    do {
        answer = waitpid(process_, &status, WNOHANG);
    } while (answer < 0 && errno == EINTR);
    if (answer == 0) return std::nullopt;
    if (answer < 0) throw std::system_error(errno, std::generic_category(), "waitpid");
    if (WIFSIGNALED(status)) return ended_by_signal + WTERMSIG(status);
    return WEXITSTATUS(status);
}

void Command::pass_on(const Signals::Arrived& signal_arrived) const {
    // What the terminal sends to our group has reached a command in it already.
    if (signal_arrived.from_terminal && !own_group_) return;
    kill(process_, signal_arrived.number);
}

void Command::signal(int number) const {
    kill(own_group_ ? -process_ : process_, number);
}

}  // namespace holdfast::cli
