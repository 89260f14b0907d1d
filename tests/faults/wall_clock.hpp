#pragma once

#include <chrono>

namespace holdfast::test {

/// The time of day as this process sees it, while this object lives: as far off as is said.
class WallClock {
public:
    WallClock() = default;
    ~WallClock() { jump_to(std::chrono::seconds{0}); }
    WallClock(const WallClock&) = delete;
    WallClock& operator=(const WallClock&) = delete;

    static void jump_to(std::chrono::seconds offset);
};

}  // namespace holdfast::test
