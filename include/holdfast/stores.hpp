#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/export.hpp>
#include <holdfast/options.hpp>

/// What each store promises, for somebody who has to choose one. Not in holdfast.hpp.
namespace holdfast::inline v0 {

/// Whom a lock can exclude.
enum class Reach : std::uint8_t { process, machine, network };

/// Whether exclusion survives what may befall the store's servers.
enum class Survival : std::uint8_t {
    no_server,  ///< there is none that it could befall
    no,         ///< it is forgotten who holds: two may, until the first is told
    if_set_up,  ///< as the server's, or the URL's, settings have it; check_up() tells
    yes,
};

/// How a waiter learns that it is its turn.
enum class Waking : std::uint8_t {
    told,            ///< the store tells it: it asks for nothing meanwhile
    told_and_looks,  ///< users of holdfast tell each other; others do not, so it looks as well
    looks,           ///< it asks, and asks again
};

/// When the place of a holder is free whose process has died.
enum class Freeing : std::uint8_t { at_once, with_the_lease };

/// What a store can do, and what it promises. Asking for anything else is refused when the lock is
/// made.
struct Capabilities {
    bool fifo = false;
    bool barging = false;
    bool barging_shares = true;  ///< barging also for readers and permits, not for a mutex alone
    Fairness default_fairness = Fairness::fifo;
    bool shared = false;          ///< readers beside each other
    bool permits = false;         ///< capacities other than all
    bool reenter = false;         ///< joins holds of one owner across processes
    bool enter_together = false;  ///< several are taken in one atomic request
    bool fences = true;           ///< a hold's number rises; where not, it is always 0
    bool lengthens = true;        ///< a lease can become longer than the one it was entered with
    std::chrono::milliseconds longest_lease = std::chrono::hours{24};
    /// The longest lease of one reader beside others, where that is less.
    std::chrono::milliseconds longest_shared_lease = std::chrono::hours{24};
    /// What sets the limit of all, for a sentence: "the session that the servers grant".
    std::string_view longest_lease_is = {};
    /// Why it cannot do the rest, and what can, for a sentence.
    std::string_view because = {};

    Reach reach = Reach::network;
    Survival survives_restart = Survival::no;   ///< of a server that crashed
    Survival survives_failover = Survival::no;  ///< to another server
    Waking waking = Waking::told;
    Freeing freeing = Freeing::with_the_lease;
    /// What the place of a dead holder is kept for at least, however short a lease it asked for.
    /// Unset: what its servers are set to.
    std::optional<std::chrono::milliseconds> shortest_lease = std::chrono::milliseconds{100};
    /// Of a lock that is free: taken and given back.
    int round_trips = 2;

    bool operator==(const Capabilities&) const = default;
};

/// A store, or a way to use one.
struct StoreInfo {
    /// As a URL names it: "redis", "redis+cluster", "redis?layout=plain".
    std::string_view name;
    /// All schemes by which a URL may name it, with commas.
    std::string_view schemes;
    /// Where the servers decide on the longest lease (Capabilities::longest_lease_is), its figure
    /// means nothing here: see Client::usual_lease().
    Capabilities can;
    bool in_this_build = false;
};

/// All that holdfast has, by name, also what this build was made without. Asks no server.
HOLDFAST_EXPORT std::vector<StoreInfo> stores();

}  // namespace holdfast::inline v0
