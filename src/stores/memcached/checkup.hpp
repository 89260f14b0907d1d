#pragma once

#include "port/store.hpp"

namespace holdfast::inline v0::memcached {

/// What nobody should have to find out by himself. No server need be asked: none can be set up so
/// that it is otherwise.
inline Examination examine() {
    return {.findings = {
                {.severity = Severity::warning,
                 .name = "memcached.best_effort",
                 .fact = "memcached keeps a lock in its memory alone, and gives no fence",
                 .consequence = "a server that is started again, evicts the item or is flushed "
                                "lets two hold until the first is told, and nothing tells them "
                                "apart",
                 .remedy = "another store where what is guarded must not be done twice; else room "
                           "enough (-m), and -o temporary_ttl=N with N above the leases in "
                           "seconds"}}};
}

}  // namespace holdfast::inline v0::memcached
