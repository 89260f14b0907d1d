#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

/// What /proc says of a process.
struct ProcessState {
    char letter = 0;  ///< R, S, D, T (stopped), Z and so on
    pid_t parent = 0;
};

/// Nothing when it is gone.
std::optional<ProcessState> state_of(pid_t process);

/// Whether a signal has stopped it, and none has continued it since.
bool is_stopped(pid_t process);

/// Its children, of all its threads. Some may be missing while others end: look again. Nothing
/// when they cannot be known, because we are out of descriptors.
std::optional<std::vector<pid_t>> children_of(pid_t process);

/// A descriptor that stays this process's, and is readable when it has ended; -1 when there is
/// none.
int open_process(pid_t process);
bool has_ended(int process_descriptor);
bool send_signal(int process_descriptor, int signal);

/// The file that says which children this process has.
std::string own_children_file();

}  // namespace holdfast::cli
