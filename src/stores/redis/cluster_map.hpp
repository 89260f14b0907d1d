#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "port/store_url.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/reply.hpp"

namespace holdfast::inline v0::redis {

/// What a node of a cluster says of it: who serves which hash slots.
struct ClusterMap {
    struct Row {
        std::uint16_t first = 0;  ///< slot
        std::uint16_t last = 0;
        Host master = {};
        /// Of the configuration by which it has them; nought: unknown.
        std::uint64_t epoch = 0;
        std::vector<Host> replicas = {};
    };

    std::uint64_t epoch = 0;  ///< the newest that the node knows of
    std::vector<Row> rows = {};
};

/// What it is asked.
std::vector<Command> question_about_cluster();
/// What it has answered to that, at the address `asked`; nothing when that is no map.
std::optional<ClusterMap> cluster_map_in(std::span<const Reply> answers, const std::string& asked);

}  // namespace holdfast::inline v0::redis
