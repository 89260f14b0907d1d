#include "stores/local/pulse.hpp"

#include <fcntl.h>
#include <cerrno>
#include <thread>

namespace holdfast::inline v0::local {

namespace {

constexpr off_t door = 0;
/// Behind the control page. Ids are random, so two clients never want the same byte.
constexpr off_t first_pulse = 4096;
constexpr off_t first_badge = first_pulse + static_cast<off_t>(id_limit);

off_t pulse_of(ClientId client) {
    return first_pulse + static_cast<off_t>(client % id_limit);
}

off_t badge_of(ClientId client) {
    return first_badge + static_cast<off_t>(client % id_limit);
}

struct flock range(short kind, off_t start, off_t length) {
    struct flock lock {};
    lock.l_type = kind;
    lock.l_whence = SEEK_SET;
    lock.l_start = start;
    lock.l_len = length;
    return lock;
}

/// Whether somebody has a lock in that range. A length of 0 has no end.
bool is_locked(int file, off_t start, off_t length) {
    struct flock lock = range(F_WRLCK, start, length);
    // What cannot be asked counts as alive: the lease bounds it.
    return fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

}  // namespace

Pulse::Pulse(Descriptor control_file) : file_(control_file.release()) {}

void Pulse::open_door(const Folder& folder, std::chrono::milliseconds patience) {
    lock_door(F_RDLCK, folder, patience);
}

void Pulse::bar_door(const Folder& folder, std::chrono::milliseconds patience) {
    lock_door(F_WRLCK, folder, patience);
}

void Pulse::lock_door(short kind, const Folder& folder, std::chrono::milliseconds patience) {
    struct flock lock = range(kind, door, 1);
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (fcntl(file_.get(), F_OFD_SETLK, &lock) != 0) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
            folder.fail_with(errno, "its control file cannot be locked");
        }
        if (std::chrono::steady_clock::now() >= limit) {
            folder.fail(errc::unreachable, "another process has been opening it for more than " +
                                               std::to_string(patience.count()) +
                                               " ms (stopped?); find it with fuser " +
                                               folder.path() + "/control and continue or end it");
        }
        // Waiting in the kernel for such a lock has no time limit.
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

void Pulse::close_door() noexcept {
    struct flock lock = range(F_UNLCK, door, 1);
    fcntl(file_.get(), F_OFD_SETLK, &lock);
}

void Pulse::start(const Folder& folder, ClientId client) {
    struct flock lock = range(F_WRLCK, pulse_of(client), 1);
    if (fcntl(file_.get(), F_OFD_SETLK, &lock) != 0) folder.fail_with(errno, "has no free pulse");
}

void take_badge(const Folder& folder, int control_file, ClientId client) {
    struct flock lock = range(F_WRLCK, badge_of(client), 1);
    if (fcntl(control_file, F_OFD_SETLK, &lock) != 0) folder.fail_with(errno, "has no free badge");
}

bool has_badge(int control_file, ClientId client) {
    return is_locked(control_file, badge_of(client), 1);
}

bool has_pulse(int control_file, ClientId client) {
    return is_locked(control_file, pulse_of(client), 1);
}

bool anybody_has_pulse(int control_file) {
    return is_locked(control_file, first_pulse, 0);
}

}  // namespace holdfast::inline v0::local
