#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

/// What a chaos is let loose on: the servers of one set-up of a store, and what may befall them.
namespace holdfast::chaos {

using Random = std::mt19937_64;

/// What befalls servers for a while.
struct Fault {
    std::string name;
    /// Begins it, and returns what ends it.
    std::function<std::function<void()>(Random&)> begin;
    /// A row of the table of faults in the store's page by which two may hold for a while, told
    /// apart by their fences; empty: nothing excuses that.
    std::string excuse = {};
    bool alone = false;  ///< it needs all servers
};

/// What contenders may ask for there.
struct Abilities {
    bool shares = true;
    bool permits = true;
    bool several = true;
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

}  // namespace holdfast::chaos
