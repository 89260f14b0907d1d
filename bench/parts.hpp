#pragma once

#include <algorithm>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "measure.hpp"

namespace bench {

/// A part of a benchmark, which can be run alone.
struct Part {
    std::string_view name;
    void (*measure)(Report&);
};

inline std::vector<Part> parts_named(std::span<const Part> parts,
                                     const std::vector<std::string_view>& names) {
    if (names.empty()) return {parts.begin(), parts.end()};
    std::vector<Part> chosen;
    for (const std::string_view name : names) {
        const auto part = std::ranges::find(parts, name, &Part::name);
        if (part == parts.end()) throw std::runtime_error("no part " + std::string(name));
        chosen.push_back(*part);
    }
    return chosen;
}

/// For main(): [--check] [PART...]. --check: fails when a bar is missed.
inline int run_parts(std::span<const Part> parts, std::span<char* const> words) {
    try {
        std::vector<std::string_view> names(words.begin() + 1, words.end());
        const bool check = std::erase(names, "--check") > 0;
        Report report;
        for (const Part& part : parts_named(parts, names)) part.measure(report);
        return check && report.missed() ? 1 : 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
        return 2;
    }
}

}  // namespace bench
