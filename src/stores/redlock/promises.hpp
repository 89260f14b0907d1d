#pragma once

#include <array>

#include <holdfast/stores.hpp>

namespace holdfast::inline v0::redlock {

/// But for the longest lease, which is what the URL says. A node that crashed, or that another one
/// stands in for, does not count until every lease is over that it may have forgotten.
inline constexpr Capabilities capabilities{
    .barging = true,
    .default_fairness = Fairness::barging,
    .shared = true,
    .longest_lease = std::chrono::minutes{1},
    .longest_lease_is = "max_lease of the store's URL",
    .because =
        "independent nodes have no line between them: a place in some of them that "
        "waits for others would lock everybody out; redis:, zookeeper:, etcd:, "
        "postgres: and mysql: have lines and permits",
    .survives_restart = Survival::yes,
    .survives_failover = Survival::yes};

inline constexpr std::array promises{
    StoreInfo{.name = "redlock", .schemes = "redlock, redlocks", .can = capabilities}};

}  // namespace holdfast::inline v0::redlock
