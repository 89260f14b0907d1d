#pragma once

#include <memory>

#include "port/store.hpp"
#include "port/store_url.hpp"

namespace holdfast::inline v0::etcd {

/// Locks on etcd, in the lines that Go's concurrency.Mutex and `etcdctl lock` stand in. Connects at
/// once, and throws Error when that fails.
std::shared_ptr<Store> open_etcd(const StoreUrl& url);

}  // namespace holdfast::inline v0::etcd
