#pragma once

#include <cstdio>
#include <cstdlib>

namespace holdfast::fuzz {

/// Ends the run where the property does not hold: libFuzzer keeps the input that broke it.
inline void expect(bool holds, const char* property) {
    if (holds) return;
    static_cast<void>(std::fprintf(stderr, "broken: %s\n", property));
    std::abort();
}

}  // namespace holdfast::fuzz
