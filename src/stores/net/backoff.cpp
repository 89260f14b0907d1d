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

/// So that clients which lost the same server do not all come back at once.
std::chrono::nanoseconds jittered(std::chrono::nanoseconds delay) noexcept {
    thread_local std::minstd_rand random{seed()};
    return delay / 2 + std::chrono::nanoseconds{
                           std::uniform_int_distribution<std::int64_t>(0, delay.count())(random)};
}

}  // namespace

void Backoff::failed(Moment now) noexcept {
    delay_ = delay_ == 0ns ? first_delay : std::min(2 * delay_, longest_delay);
    next_ = now + jittered(delay_);
}

}  // namespace holdfast::inline v0::net
