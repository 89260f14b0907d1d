#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "port/store_url.hpp"
#include "stores/net/address.hpp"

namespace holdfast::inline v0::etcd {

/// The members of one etcd, and how they are used.
struct Cluster {
    std::vector<net::Address> members;
    std::string user = {};  ///< empty: nobody in particular
    std::string password = {};
    /// For a connection, and for a member that does not answer before another one is asked.
    std::chrono::milliseconds connect_timeout{3'000};
    /// Longer than an election takes.
    std::chrono::milliseconds request_timeout{10'000};

    /// For sentences: "etcd 127.0.0.1:2379,127.0.0.1:2479".
    std::string shown() const;
};

/// Throws Error with errc::bad_configuration. Reads the password's file, if one is named.
Cluster cluster_of(const StoreUrl& url);

}  // namespace holdfast::inline v0::etcd
