#pragma once

#include <array>

#include <holdfast/stores.hpp>

namespace holdfast::inline v0::etcd {

inline constexpr Capabilities capabilities{.fifo = true,
                                           .shared = true,
                                           .permits = true,
                                           .enter_together = true,
                                           .survives_restart = Survival::yes,
                                           .survives_failover = Survival::yes,
                                           .shortest_lease = std::nullopt};

inline constexpr std::array promises{
    StoreInfo{.name = "etcd", .schemes = "etcd, etcds", .can = capabilities}};

}  // namespace holdfast::inline v0::etcd
