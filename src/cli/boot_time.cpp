#include "cli/boot_time.hpp"

#include <sys/timerfd.h>
#include <ctime>

#include <algorithm>

namespace holdfast::cli {

BootTime boot_time_now() noexcept {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

BootTimer::BootTimer() : descriptor_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {}

void BootTimer::set(BootTime moment) {
    if (moment == set_to_ && moment == never) return;
    set_to_ = moment;
    itimerspec when{};  // zero disarms it
    if (moment != never) {
        const auto count = std::max<BootTime::rep>(moment.count(), 1);
        when.it_value = {.tv_sec = count / 1'000'000'000, .tv_nsec = count % 1'000'000'000};
    }
    timerfd_settime(descriptor_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

}  // namespace holdfast::cli
