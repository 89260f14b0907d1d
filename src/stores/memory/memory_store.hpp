#pragma once

#include <memory>
#include <string>

#include "port/clock.hpp"
#include "port/store.hpp"
#include "port/store_url.hpp"

namespace holdfast::inline v0::memory {

/// The reference store: lines in this process's memory, gone with it. An empty name is a store of
/// its own; equal names are the same store for all clients of the process.
std::shared_ptr<Store> open_memory(const std::string& name);
/// The store that the URL names: memory: or memory:NAME. Throws Error.
std::shared_ptr<Store> open_memory(const StoreUrl& url);

/// A store of its own, with a clock of the caller's, which must outlive the store.
std::shared_ptr<Store> open_memory(const Clock& clock);

}  // namespace holdfast::inline v0::memory
