#include "cli/process_table.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <string_view>

namespace holdfast::cli {
namespace {

/// Whether what was to be opened belongs to a process that is gone; otherwise it cannot be known.
bool is_gone() {
    return errno == ENOENT || errno == ESRCH;
}

/// The whole of a small file; nothing when it cannot be opened.
std::optional<std::string> contents(const std::string& path) {
    std::string text;
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    char buffer[4096];
    for (ssize_t size = 0; (size = read(file, buffer, sizeof buffer)) > 0;) {
        text.append(buffer, static_cast<std::size_t>(size));
    }
    close(file);
    return text;
}

/// Appends the numbers of a text in which each has a space behind it.
void append_numbers(std::vector<pid_t>& numbers, std::string_view text) {
    for (auto space = text.find(' '); space != std::string_view::npos; space = text.find(' ')) {
        pid_t number = 0;
        std::from_chars(text.data(), text.data() + space, number);
        numbers.push_back(number);
        text.remove_prefix(space + 1);
    }
}

std::string tasks_of(pid_t process) {
    return "/proc/" + std::to_string(process) + "/task/";
}

}  // namespace

std::optional<ProcessState> state_of(pid_t process) {
    const std::string text =
        contents("/proc/" + std::to_string(process) + "/stat").value_or(std::string());
    // The program's name is in parentheses, and may have any of them in it.
    const auto name_end = text.rfind(") ");
    if (name_end == std::string::npos || name_end + 4 >= text.size()) return std::nullopt;
    ProcessState state{.letter = text[name_end + 2]};
    std::from_chars(text.data() + name_end + 4, text.data() + text.size(), state.parent);
    return state;
}

bool is_stopped(pid_t process) {
    const auto state = state_of(process);
    return state && state->letter == 'T';
}

std::optional<std::vector<pid_t>> children_of(pid_t process) {
    std::vector<pid_t> children;
    const std::string tasks = tasks_of(process);
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(tasks.c_str()), closedir);
    if (folder == nullptr) return is_gone() ? std::optional(children) : std::nullopt;
    while (const dirent* const task = readdir(folder.get())) {
        if (task->d_name[0] == '.') continue;
        const auto listed = contents(tasks + task->d_name + "/children");
        if (!listed && !is_gone()) return std::nullopt;
        append_numbers(children, listed.value_or(std::string()));
    }
    return children;
}

/// glibc 2.36 does not declare it for C++, nor the other one.
int open_process(pid_t process) {
    return static_cast<int>(syscall(SYS_pidfd_open, process, 0));
}

bool has_ended(int process_descriptor) {
    pollfd source{process_descriptor, POLLIN, 0};
    return poll(&source, 1, 0) > 0;
}

bool send_signal(int process_descriptor, int signal) {
    return syscall(SYS_pidfd_send_signal, process_descriptor, signal, nullptr, 0) == 0;
}

std::string own_children_file() {
    return tasks_of(getpid()) + std::to_string(getpid()) + "/children";
}

}  // namespace holdfast::cli
