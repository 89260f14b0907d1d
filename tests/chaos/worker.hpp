#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "chaos/site.hpp"

namespace holdfast::chaos {

/// What makes the program one of the processes that contend.
inline constexpr const char* worker_flag = "--worker";

/// How they contend on a site, so that whoever looks after them knows the names.
verify::Manner manner_on(const Abilities& abilities,
                         std::chrono::milliseconds shortest_lease = std::chrono::seconds{1});

struct WorkerOrders {
    std::string url;
    std::filesystem::path journals;  ///< a folder: its own is named by its pid
    std::filesystem::path sink;
    std::uint64_t seed = 0;
    Abilities abilities;
    std::chrono::milliseconds shortest_lease{0};
    std::string broken = {};  ///< as Site::broken()
};

/// Contends in all ways at once until its input says to stop, or ends; then what it waits for is
/// cancelled, what it holds given back. The exit code.
int work(const WorkerOrders& orders);

}  // namespace holdfast::chaos
