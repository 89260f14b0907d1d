#pragma once

#include <chrono>
#include <thread>

namespace holdfast::test {

/// Far more than anything here takes: past it something is stuck, not slow.
inline constexpr std::chrono::seconds patience{30};

/// Whether `condition` came true within `limit`. A test waits for what it is about, never for luck.
template <class Condition>
[[nodiscard]] bool await(Condition condition, std::chrono::nanoseconds limit = patience) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= end) return condition();
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return true;
}

}  // namespace holdfast::test
