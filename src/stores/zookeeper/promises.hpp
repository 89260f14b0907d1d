#pragma once

#include <array>

#include <holdfast/stores.hpp>

namespace holdfast::inline v0::zookeeper {

/// But for the longest lease, which the servers decide.
inline constexpr Capabilities capabilities{
    .fifo = true,
    .barging = true,
    .barging_shares = false,
    .shared = true,
    .permits = true,
    .lengthens = false,
    .longest_lease_is = "the longest session that ZooKeeper grants",
    .survives_restart = Survival::yes,
    .survives_failover = Survival::yes,
    .shortest_lease = std::nullopt};

inline constexpr std::array promises{
    StoreInfo{.name = "zookeeper", .schemes = "zookeeper, zookeepers", .can = capabilities}};

}  // namespace holdfast::inline v0::zookeeper
