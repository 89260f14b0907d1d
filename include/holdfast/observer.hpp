#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <holdfast/export.hpp>
#include <holdfast/hold.hpp>

namespace holdfast::inline v0 {

/// How a wait in line ended.
enum class WaitEnd : std::uint8_t {
    admitted,
    given_up,  ///< its time was up, or it was stopped
    put_out,   ///< it lost its place; it joins the line again while its patience lasts
    failed,
};

/// Told of what happens to a client's locks, for logs and metrics; see holdfast/metrics.hpp. Every
/// member does nothing unless overridden. They must be quick and must not throw. None is called
/// with a lock held.
/// Threads: called from several at once: `waiting`, `wait_ended`, `acquired` and `released` from
/// those that cause them, `renewed`, `lost`, `store_failed` and `store_answers` from the client's
/// callback thread; `released` too, of a hold that was given back without waiting.
class HOLDFAST_EXPORT Observer {
public:
    virtual ~Observer();

    /// A contender was not admitted at once and stands in line.
    virtual void waiting(std::string_view resource);
    /// Once after each `waiting`. `waited`: since the acquisition began.
    virtual void wait_ended(std::string_view resource, WaitEnd how,
                            std::chrono::nanoseconds waited);
    virtual void acquired(std::string_view resource, std::uint64_t fence,
                          std::chrono::nanoseconds waited);
    /// The store has confirmed it once more.
    virtual void renewed(std::string_view resource, std::uint64_t fence);
    /// Once after each `acquired`, also of a hold that was lost.
    virtual void released(std::string_view resource, std::uint64_t fence, Released how);
    virtual void lost(std::string_view resource, std::uint64_t fence, Loss why);
    /// A renewal or a clean-up in the background failed and will be tried again; or the clock of
    /// the server has jumped, by which it counts leases.
    virtual void store_failed(std::string_view sentence);
    /// A renewal was answered, for the first time after one that failed.
    virtual void store_answers();
};

}  // namespace holdfast::inline v0
