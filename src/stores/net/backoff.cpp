#include "stores/net/backoff.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <random>

namespace holdfast::inline v0::net {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds first_delay = 5ms;
constexpr std::chrono::nanoseconds longest_delay = 1s;

std::minstd_rand::result_type seed() noexcept {
    try {
        return std::random_device{}();
    } catch (const std::exception&) {
        return static_cast<std::minstd_rand::result_type>(
            BootClock::now().time_since_epoch().count());
    }
}

}  // namespace

std::chrono::nanoseconds random_time(std::chrono::nanoseconds longest) noexcept {
    thread_local std::minstd_rand random{seed()};
    return std::chrono::nanoseconds{
        std::uniform_int_distribution<std::int64_t>(0, longest.count())(random)};
}

void Backoff::failed(Moment now) noexcept {
    delay_ = delay_ == 0ns ? first_delay : std::min(2 * delay_, longest_delay);
    next_ = now + delay_ / 2 + random_time(delay_);
}

}  // namespace holdfast::inline v0::net
