#pragma once

#include <memory>

#include "port/store.hpp"
#include "port/store_url.hpp"

namespace holdfast::inline v0::zookeeper {

/// Locks on ZooKeeper, in the lines that Curator and kazoo stand in. Connects at once, and throws
/// Error when that fails.
std::shared_ptr<Store> open_zookeeper(const StoreUrl& url);

}  // namespace holdfast::inline v0::zookeeper
