#pragma once

#include <cstdlib>

namespace holdfast::test {

/// How often a test does what chance must meet: `now` in every run, `soaking` in `./dev soak`,
/// which has the time.
inline int rounds(int now, int soaking) {
    return std::getenv("HOLDFAST_SOAK") == nullptr ? now : soaking;
}

}  // namespace holdfast::test
