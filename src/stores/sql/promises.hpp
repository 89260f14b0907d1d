#pragma once

#include <holdfast/stores.hpp>

#include "stores/scripted/promises.hpp"

namespace holdfast::inline v0::sql {

constexpr Capabilities in_a_database(Capabilities can) {
    can.survives_restart = Survival::yes;
    can.survives_failover = Survival::if_set_up;
    return can;
}

inline constexpr Capabilities in_tables_of_ours = in_a_database(scripted::everything);

/// In a line that is shared with others nobody's turn is safe from them.
inline constexpr Capabilities beside_shedlock = in_a_database(
    {.barging = true, .default_fairness = Fairness::barging, .waking = Waking::told_and_looks});

}  // namespace holdfast::inline v0::sql
