#include "stores/local/process.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "stores/local/descriptor.hpp"

namespace holdfast::inline v0::local {

ProcessIdentity this_process() {
    return identity_of(getpid());
}

ProcessIdentity identity_of(pid_t pid) {
    const auto started = start_time_of(pid);
    // Without it nobody could tell this process from a later one with its pid.
    return {.pid = pid,
            .start_time = started.value_or(0),
            .pid_namespace = started ? own_pid_namespace() : 0};
}

std::uint64_t own_pid_namespace() {
    // A /proc of another namespace shows other processes by these pids.
    char pid[32] = {};
    if (readlink("/proc/self", pid, sizeof pid - 1) < 0 || std::to_string(getpid()) != pid) {
        return 0;
    }
    struct stat status {};
    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

std::uint64_t own_time_namespace() {
    struct stat status {};
    return stat("/proc/self/ns/time", &status) == 0 ? status.st_ino : 0;
}

namespace {

/// What /proc says in a file of that process; empty when there is none.
std::string proc_file(pid_t pid, const char* name) {
    const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char text[1024];
    const auto length = file ? ::read(file.get(), text, sizeof text) : 0;
    return {text, length > 0 ? static_cast<std::size_t>(length) : 0};
}

}  // namespace

std::optional<std::uint64_t> start_time_of(pid_t pid) {
    const std::string text = proc_file(pid, "stat");
    // The second field is the program's name, which may contain anything, parentheses too.
    const char* field = std::strrchr(text.c_str(), ')');
    if (field == nullptr) return std::nullopt;
    field += 2;
    constexpr int state_is_field = 3;
    constexpr int start_time_is_field = 22;
    for (int number = state_is_field; number < start_time_is_field; ++number) {
        field = std::strchr(field, ' ');
        if (field == nullptr) return std::nullopt;
        ++field;
    }
    return std::strtoull(field, nullptr, 10);
}

bool has_ended(const ProcessIdentity& process, std::uint64_t here) {
    if (!process.is_in(here)) return false;
    if (kill(process.pid, 0) != 0 && errno == ESRCH) return true;
    const auto started = start_time_of(process.pid);
    return started && *started != process.start_time;
}

}  // namespace holdfast::inline v0::local
