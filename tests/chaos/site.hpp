#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "verify/checkers.hpp"
#include "verify/contention.hpp"

/// What a chaos is let loose on: the servers of one set-up of a store, and what may befall them.
namespace holdfast::chaos {

using verify::Abilities;
using verify::Excused;
using verify::Random;

/// What befalls servers for a while.
struct Fault {
    std::string name;
    /// Begins it, and returns what ends it.
    std::function<std::function<void()>(Random&)> begin;
    Excused excuse = {};
    bool alone = false;  ///< it needs all servers
};

class Site {
public:
    virtual ~Site() = default;
    Site() = default;
    Site(const Site&) = delete;
    Site& operator=(const Site&) = delete;

    virtual std::string url() const = 0;
    virtual std::vector<Fault> faults() = 0;
    /// Until all servers are there, and in step, again.
    virtual void settle() = 0;
    virtual Abilities abilities() const { return {}; }
    /// They ask for no shorter lease, and for none that is much longer.
    virtual std::chrono::milliseconds shortest_lease() const {
        return std::chrono::milliseconds{1500};
    }
    /// How its clients break the store; empty: they use it as it is.
    virtual std::string broken() const { return {}; }
    /// What the store's page says of a contender that somebody ends by hand.
    virtual Excused excuse_of_hands() const = 0;
};

/// A set-up by its name.
struct SiteEntry {
    std::string name;
    std::function<std::unique_ptr<Site>()> make;
    bool known_bad = false;  ///< there to be found out: only when it is named
};
/// All that there are, in this build.
std::vector<SiteEntry> all_sites();

std::vector<SiteEntry> local_sites();
std::vector<SiteEntry> redis_sites();
std::vector<SiteEntry> redlock_sites();
std::vector<SiteEntry> database_sites();
std::vector<SiteEntry> member_sites();
std::vector<SiteEntry> memcached_sites();

}  // namespace holdfast::chaos
