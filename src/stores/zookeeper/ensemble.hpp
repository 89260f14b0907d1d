#pragma once

#include <chrono>
#include <string>

#include "stores/net/address.hpp"
#include "stores/zookeeper/operations.hpp"

namespace holdfast::inline v0::zookeeper {

/// The time that a session is asked for. A client has a session for each that it uses.
using Term = std::chrono::milliseconds;

/// The servers of one ZooKeeper, and how they are used.
struct Ensemble : net::ServerList {
    std::string credentials = {};  ///< user:password, or nothing
    std::string chroot = {};       ///< before all paths: "/app", or nothing
    /// The servers' tickTime, which they do not tell.
    std::chrono::milliseconds tick{2'000};

    /// The session that a lease has. Two ticks more than the lease: so long it takes to be proved
    /// that the leader has heard of it, also when an answer was slow; and in whole ticks, as
    /// servers count: so many leases share few sessions.
    Term term_of(std::chrono::milliseconds lease) const {
        return std::chrono::milliseconds{(lease.count() + tick.count() - 1) / tick.count() + 2} *
               tick.count();
    }
    Access access() const { return credentials.empty() ? Access::everybody : Access::creator; }
    std::string shown() const { return ServerList::shown() + chroot; }
};

/// Throws Error with errc::bad_configuration. Reads the password's file, if one is named.
Ensemble ensemble_of(const StoreUrl& url);

}  // namespace holdfast::inline v0::zookeeper
