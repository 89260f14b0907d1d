#pragma once

#include <memory>

#include "core/contest.hpp"
#include "core/context.hpp"

/// An acquisition from its call to its end: one contest, and another one when its contender was put
/// out of line or the store could not be reached, while its patience lasts.
namespace holdfast::inline v0::core {

/// Decides whether the same request is contested once more. Without I/O.
class Pursuit {
public:
    Pursuit(std::optional<std::chrono::nanoseconds> patience, Moment began)
        : patience_(patience), began_(began) {}

    /// After how long to come again, when a contest ended so; nothing: that was the end.
    std::optional<std::chrono::nanoseconds> pause_after(const Outcome& outcome, Moment now);
    /// How the last contest's end is told to whoever asked.
    static Outcome told(Outcome outcome);

private:
    std::optional<std::chrono::nanoseconds> patience_;
    Moment began_;
    std::chrono::nanoseconds backoff_{0};
};

/// Acquires on the caller's own thread, which does the store's I/O while it waits. Throws Error
/// when there are no threads to keep a hold with.
Outcome acquire(const std::shared_ptr<Context>& context, Request request);

/// Acquires without a thread. `done` is called once, on the telling thread.
void acquire_async(const std::shared_ptr<Context>& context, Request request,
                   Callback<void(Outcome)> done);

}  // namespace holdfast::inline v0::core
