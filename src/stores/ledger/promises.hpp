#pragma once

#include <holdfast/stores.hpp>

namespace holdfast::inline v0::ledger {

/// What a ledger can do, in whatever table.
inline constexpr Capabilities capabilities{.fifo = true,
                                           .barging = true,
                                           .shared = true,
                                           .permits = true,
                                           .reenter = true,
                                           .enter_together = true,
                                           .reach = Reach::process,
                                           .survives_restart = Survival::no_server,
                                           .survives_failover = Survival::no_server,
                                           .freeing = Freeing::at_once,
                                           .round_trips = 0};

}  // namespace holdfast::inline v0::ledger
