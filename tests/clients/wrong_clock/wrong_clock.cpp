// Preloaded, it sets the wall clock of a process back by an hour, or to what the file says that
// HOLDFAST_TEST_CLOCK names, from when it does: "3600" is so many seconds ahead,
// "=1790000000123456" a clock that stands still at that microsecond. All other clocks are right.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {

constexpr std::time_t an_hour = 3600;

void falsify(timespec& moment) {
    static const char* const name = std::getenv("HOLDFAST_TEST_CLOCK");
    if (name == nullptr) {
        moment.tv_sec -= an_hour;
        return;
    }
    char text[32] = {};
    const int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    static_cast<void>(!read(file, text, sizeof text - 1));
    close(file);
    if (text[0] != '=') {
        moment.tv_sec += std::atol(text);
        return;
    }
    const long microseconds = std::atol(text + 1);
    moment = {microseconds / 1'000'000, microseconds % 1'000'000 * 1000};
}

}  // namespace

#pragma GCC visibility push(default)

extern "C" {

int clock_gettime(clockid_t clock, timespec* moment) noexcept {
    static const auto real =
        reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
    const int result = real(clock, moment);
    if (result == 0 && clock == CLOCK_REALTIME) falsify(*moment);
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
