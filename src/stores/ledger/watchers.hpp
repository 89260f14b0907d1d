#pragma once

#include <span>

#include "port/watchers.hpp"
#include "stores/ledger/line_page.hpp"

namespace holdfast::inline v0::ledger {

/// Calls those of `client` among the told.
inline void call(Watchers& watchers, std::span<const Told> told, ClientId client) {
    for (const Told& one : told) {
        if (one.client == client) watchers.call(one.nonce, Standing{.state = one.state});
    }
}

}  // namespace holdfast::inline v0::ledger
