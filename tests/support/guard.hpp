#pragma once

#include <filesystem>
#include <string>

#include "support/child.hpp"

namespace holdfast::test {

/// A process that kills `victim` and removes its folder as soon as this one has ended, by what end
/// soever: its input ends then. (PR_SET_PDEATHSIG would do so when the *thread* ends that started
/// the server.) To be ended before the victim: when that is gone, its number can be another's.
inline Child guard_of(pid_t victim, const std::filesystem::path& folder) {
    return Child({"sh", "-c", R"(read -r line; kill -KILL "$0"; rm -rf "$1")",
                  std::to_string(victim), folder});
}

}  // namespace holdfast::test
