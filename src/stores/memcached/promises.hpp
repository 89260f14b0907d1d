#pragma once

#include <array>

#include <holdfast/stores.hpp>

namespace holdfast::inline v0::memcached {

inline constexpr Capabilities capabilities{
    .barging = true,
    .default_fairness = Fairness::barging,
    .fences = false,
    .because =
        "memcached keeps one item for a lock and runs nothing of ours; local:, redis:, "
        "zookeeper:, etcd:, postgres: and mysql: have lines, readers, permits and fences",
    .waking = Waking::looks,
    // A lease is rounded up to whole seconds, and an item lives up to one less than it is told.
    .shortest_lease = std::chrono::seconds{1}};

inline constexpr std::array promises{
    StoreInfo{.name = "memcached", .schemes = "memcached, memcacheds", .can = capabilities},
    StoreInfo{
        .name = "memcached?layout=plain", .schemes = "memcached, memcacheds", .can = capabilities}};

}  // namespace holdfast::inline v0::memcached
