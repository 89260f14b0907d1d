#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "stores/local/folder.hpp"
#include "stores/local/process.hpp"
#include "stores/local/registry.hpp"

namespace holdfast::inline v0::local {

/// What a turnstile has in the control page. Numbers only: whoever can write the page can plant
/// anything here, but nothing that is followed as a pointer.
struct TurnstilePlate {
    /// 0: nobody is inside. Else twice the client's id, and one more when somebody sleeps outside.
    std::atomic<std::uint64_t> inside;
    std::atomic<std::uint64_t> turns;  ///< taken so far
    // Of the client that took the last turn, written once it is inside: it says whom the rest is
    // about.
    std::atomic<std::uint64_t> client;
    std::atomic<std::uint64_t> start_time;
    std::atomic<std::uint64_t> pid_namespace;
    std::atomic<std::int32_t> pid;
};

/// Lets one thread in at a time, over all processes of a store.
/// A client may be killed inside: then the next one takes its place. That it is dead is not left
/// to the kernel to say (a robust mutex is told by thread ids, which are equal in different PID
/// namespaces): it is proved by the client's badge, or by the end of its process. It may also be
/// stopped inside: then the others give up after a time limit.
/// Threads: all members may be called from any thread.
class Turnstile {
public:
    /// For a client, whose badge it takes on the given description of the control file. `patience`
    /// is how long a turn is waited for. Throws Error.
    Turnstile(TurnstilePlate& plate, const Folder& folder, int control_file, const Registrant& self,
              std::chrono::milliseconds patience);

    /// Makes no system call when nobody is inside. Throws Error(errc::unreachable) naming the
    /// process that has been inside for too long.
    void enter();
    void leave() noexcept;

    /// Whether somebody sleeps until it is left.
    static bool awaited(const TurnstilePlate& plate) noexcept;

private:
    bool enter_free() noexcept;
    bool spin();
    void wait();
    bool enter_or_sleep(std::chrono::milliseconds longest);
    bool is_dead(std::uint64_t client, std::uint64_t turns) const;
    void sign() noexcept;
    [[noreturn]] void fail_stuck() const;

    TurnstilePlate& plate_;
    const Folder& folder_;
    const int control_file_;
    const Registrant self_;
    const std::chrono::milliseconds patience_;
};

}  // namespace holdfast::inline v0::local
