#pragma once

#include <string>

#include <holdfast/callback.hpp>

#include "port/clock.hpp"
#include "stores/listed/entrants.hpp"
#include "stores/listed/neighbour.hpp"
#include "stores/listed/removals.hpp"

namespace holdfast::inline v0::listed {

/// What Lines ask of the server that has them.
/// Threads: all members may be called from any thread.
class Server {
public:
    virtual ~Server() = default;

    /// Whether ends are told in the order in which they happened, and of a name that nobody else
    /// ever has: so the end of its own node is its end, and the end of the only one ahead of it is
    /// its turn. Else it has to look.
    virtual bool goes_by_events(const Entrant& entrant) const = 0;
    /// Has Lines::stir() called, once for each, when one of the nodes that it waits for ends, or
    /// changes in a way that concerns it: also when that has happened since they were listed.
    virtual void watch(const Entrant& entrant) = 0;
    /// Nobody waits for this one any more.
    virtual void unwatch(const std::string& /*node*/) {}
    /// It is admitted: those behind it with permits, which look at it alone, are to hear of it.
    virtual void tell_those_behind(const Entrant& entrant) = 0;
    /// Ends it, but only while the other one is there. `is_out` is called if that was done.
    virtual void take_out_behind(const Entrant& entrant, const Neighbour& other,
                                 Callback<void()> is_out) = 0;
    /// take_out_behind() has done it.
    virtual void was_taken_out(const Entrant& /*entrant*/) {}
    /// Ends one that nobody has renewed, in the background: see Lines::remove().
    virtual void take_back(const Entrant& entrant) = 0;
    /// The session that it came with is over, and so is it.
    virtual void outlived(const Entrant& entrant) = 0;
    /// Whether a removal has gone with its session, or is about to.
    virtual bool is_over(const Removal& removal) const = 0;
    /// Says what came of it by Lines::was_removed() or Lines::removal_unanswered().
    virtual void remove(const Removal& removal) = 0;
    /// What is over beside that.
    virtual void tidy(Moment /*now*/) {}
};

}  // namespace holdfast::inline v0::listed
