#include "cli/process_table.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <string_view>

namespace holdfast::cli {
namespace {

/// The whole of a small file; nothing when it is not there.
std::string contents(const std::string& path) {
    std::string text;
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return text;
    char buffer[4096];
    for (ssize_t size = 0; (size = read(file, buffer, sizeof buffer)) > 0;) {
        text.append(buffer, static_cast<std::size_t>(size));
    }
    close(file);
    return text;
}

/// Of numbers that each have a space behind them.
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
    const std::string text = contents("/proc/" + std::to_string(process) + "/stat");
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

std::vector<pid_t> children_of(pid_t process) {
    std::vector<pid_t> children;
    const std::string tasks = tasks_of(process);
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(tasks.c_str()), closedir);
    if (folder == nullptr) return children;
    while (const dirent* const task = readdir(folder.get())) {
        if (task->d_name[0] == '.') continue;
        append_numbers(children, contents(tasks + task->d_name + "/children"));
    }
    return children;
}

std::string own_children_file() {
    return tasks_of(getpid()) + std::to_string(getpid()) + "/children";
}

}  // namespace holdfast::cli
