// Preloaded, it sets the wall clock of a process back by an hour; all other clocks are right.
#include <dlfcn.h>
#include <sys/time.h>

#include <ctime>

namespace {
constexpr std::time_t an_hour = 3600;
}

extern "C" {

int clock_gettime(clockid_t clock, timespec* moment) noexcept {
    static const auto real =
        reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
    const int result = real(clock, moment);
    if (result == 0 && clock == CLOCK_REALTIME) moment->tv_sec -= an_hour;
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
