#pragma once

#include <sys/types.h>
#include <cstdint>
#include <optional>

namespace holdfast::inline v0::local {

/// Tells a process from every other of this boot: pids come again, and differ between namespaces.
struct ProcessIdentity {
    std::int32_t pid = 0;
    std::uint64_t start_time = 0;  ///< in clock ticks since the boot
    std::uint64_t pid_namespace = 0;

    bool operator==(const ProcessIdentity&) const = default;
    /// Whether its pid means something in that namespace.
    bool is_in(std::uint64_t other) const { return other != 0 && pid_namespace == other; }
};

ProcessIdentity this_process();
/// The identity of a process of this PID namespace.
ProcessIdentity identity_of(pid_t pid);

/// The inode of this process's PID namespace; 0 when it, or what is in it, cannot be known.
std::uint64_t own_pid_namespace();

/// The inode of this process's time namespace; 0 where there is but one.
std::uint64_t own_time_namespace();

/// When the process of that pid, in this namespace, was started; nothing when there is none.
std::optional<std::uint64_t> start_time_of(pid_t pid);

/// Whether it is proved that the process has ended, for one who is in the PID namespace `here`.
/// That /proc does not answer (no descriptor left, hidden from this user) proves nothing.
bool has_ended(const ProcessIdentity& process, std::uint64_t here);

}  // namespace holdfast::inline v0::local
