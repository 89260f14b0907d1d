// Preloaded, it sets the wall clock of a process back by an hour, or ahead by as many seconds as
// the file says that HOLDFAST_TEST_CLOCK names, from when it does; all other clocks are right.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {

constexpr std::time_t an_hour = 3600;

std::time_t ahead() {
    static const char* const name = std::getenv("HOLDFAST_TEST_CLOCK");
    if (name == nullptr) return -an_hour;
    char digits[32] = {};
    const int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    static_cast<void>(!read(file, digits, sizeof digits - 1));
    close(file);
    return std::atol(digits);
}

}  // namespace

#pragma GCC visibility push(default)

extern "C" {

int clock_gettime(clockid_t clock, timespec* moment) noexcept {
    static const auto real =
        reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
    const int result = real(clock, moment);
    if (result == 0 && clock == CLOCK_REALTIME) moment->tv_sec += ahead();
    return result;
}

int gettimeofday(timeval* moment, void* /*zone*/) noexcept {
    timespec now{};
    const int result = clock_gettime(CLOCK_REALTIME, &now);
    *moment = {now.tv_sec, now.tv_nsec / 1000};
    return result;
}

std::time_t time(std::time_t* kept) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (kept != nullptr) *kept = now.tv_sec;
    return now.tv_sec;
}
}

#pragma GCC visibility pop
