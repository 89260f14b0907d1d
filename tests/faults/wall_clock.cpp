#include "faults/wall_clock.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

namespace {

std::atomic<std::time_t> wall_offset{0};

}  // namespace

/// In place of the C library's, for all that is loaded into this process.
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                                    timespec* time) noexcept {
    const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
    if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += wall_offset;
    return result;
}

namespace holdfast::test {

void WallClock::jump_to(std::chrono::seconds offset) {
    wall_offset = offset.count();
}

}  // namespace holdfast::test
