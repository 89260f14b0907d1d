#pragma once

#include <holdfast/client.hpp>
#include <holdfast/export.hpp>

/// What a process needs that leaves others behind to end what its holds guarded. Not in
/// holdfast.hpp.
namespace holdfast::inline v0 {

/// A new descriptor, the caller's to close, for a process that outlives this one and ends what the
/// client's holds guarded: the one with that pid. A store that notices the death of a process
/// (local:) does not take the client for dead before all such descriptors are closed, and looks at
/// that process instead of this one. -1 on a store where only the lease tells. Throws Error.
/// Threads: may be called from any thread.
HOLDFAST_EXPORT int share_life(const Client& client, int pid);

}  // namespace holdfast::inline v0
