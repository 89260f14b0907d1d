#pragma once

#include <array>

#include <holdfast/stores.hpp>

#include "stores/scripted/promises.hpp"

namespace holdfast::inline v0::redis {

/// By how many servers there are, in whatever layout. One request is for one node of a cluster.
constexpr Capabilities on_one(Capabilities can) {
    can.survives_restart = Survival::if_set_up;
    return can;
}
constexpr Capabilities with_replicas(Capabilities can) {
    can.survives_restart = can.survives_failover = Survival::if_set_up;
    return can;
}
constexpr Capabilities on_a_cluster(Capabilities can) {
    can = with_replicas(can);
    can.enter_together = false;
    return can;
}

/// In the layouts of others there is no line, and nobody tells us who goes.
inline constexpr Capabilities plain{.barging = true,
                                    .default_fairness = Fairness::barging,
                                    .enter_together = true,
                                    .waking = Waking::told_and_looks};
constexpr Capabilities redisson(std::chrono::milliseconds watchdog) {
    return {.barging = true,
            .default_fairness = Fairness::barging,
            .shared = true,
            .reenter = true,
            .enter_together = true,
            .longest_shared_lease = watchdog,
            .waking = Waking::told_and_looks};
}
/// Redisson's own.
inline constexpr std::chrono::milliseconds usual_watchdog = std::chrono::seconds{30};

inline constexpr std::array promises{
    StoreInfo{.name = "redis",
              .schemes = "redis, rediss, redis+unix",
              .can = on_one(scripted::everything)},
    StoreInfo{.name = "redis+cluster",
              .schemes = "redis+cluster, rediss+cluster",
              .can = on_a_cluster(scripted::everything)},
    StoreInfo{.name = "redis+sentinel",
              .schemes = "redis+sentinel, rediss+sentinel",
              .can = with_replicas(scripted::everything)},
    StoreInfo{.name = "redis?layout=plain",
              .schemes = "redis, rediss, redis+unix, redis+sentinel, rediss+sentinel",
              .can = on_one(plain)},
    StoreInfo{.name = "redis?layout=redisson",
              .schemes = "redis, rediss, redis+unix, redis+sentinel, rediss+sentinel",
              .can = on_one(redisson(usual_watchdog))}};

}  // namespace holdfast::inline v0::redis
