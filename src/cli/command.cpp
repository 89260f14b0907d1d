#include "cli/command.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/exit_code.hpp"

namespace holdfast::cli {
namespace {

bool has_terminal() {
    const int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (terminal >= 0) close(terminal);
    return terminal >= 0;
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
/// Gives the error's number, or 0. A group of 0 is one of its own.
int spawn(pid_t& process, std::vector<std::string> words, std::vector<std::string> environment,
          const sigset_t& mask, pid_t group) {
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &mask);
    posix_spawnattr_setpgroup(&attributes, group);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
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
                         pid_t group) {
    pid_t process = 0;
    int error = spawn(process, words, environment, mask, group);
    if (error == ENOEXEC) {
        words.front() = found_in_path(words.front());
        words.insert(words.begin(), "/bin/sh");
        error = spawn(process, words, environment, mask, group);
    }
    if (error != 0) throw std::system_error(error, std::generic_category());
    return process;
}

}  // namespace

Command::Command(Start start)
    : own_group_(!has_terminal()),
      process_(spawn_or_interpret(std::move(start.words), environment_with(start.variables),
                                  start.mask, own_group_ ? 0 : start.group)) {}

void Command::pass_on(const Arrived& signal) const {
    // What the terminal sends to our group has reached a command in it already.
    if (signal.from_terminal && !own_group_) return;
    kill(process_, signal.number);
}

int exit_code_of_status(int status) {
    return WIFSIGNALED(status) ? ended_by_signal + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace holdfast::cli
