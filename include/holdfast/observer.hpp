#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <holdfast/export.hpp>
#include <holdfast/hold.hpp>

namespace holdfast::inline v0 {

/// Told of what happens to a client's locks, for logs and metrics. Every member does nothing
/// unless overridden. They must be quick and must not throw.
/// Threads: called from several at once: `waiting`, `acquired` and `released` from the one that
/// causes them, `lost` and `store_failed` from the client's callback thread.
class HOLDFAST_EXPORT Observer {
public:
    virtual ~Observer();

    /// A contender was not admitted at once and stands in line.
    virtual void waiting(std::string_view resource);
    virtual void acquired(std::string_view resource, std::uint64_t fence,
                          std::chrono::nanoseconds waited);
    virtual void released(std::string_view resource, std::uint64_t fence, Released how);
    virtual void lost(std::string_view resource, std::uint64_t fence, Loss why);
    /// A renewal or a clean-up in the background failed and will be tried again; or the clock of
    /// the server has jumped, by which it counts leases.
    virtual void store_failed(std::string_view sentence);
};

}  // namespace holdfast::inline v0
