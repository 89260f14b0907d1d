#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "port/pending.hpp"
#include "port/store.hpp"
#include "stores/listed/lines.hpp"

namespace holdfast::inline v0::listed {

/// What one server has of its own: how contenders come into its lines, are listed, kept and ended.
/// It is shared by whoever uses it, and what comes back from the server finds it no more when it is
/// gone.
/// Threads: all members may be called from any thread.
class Protocol {
public:
    virtual ~Protocol() = default;

    Lines lines{*this};

    // The verbs: see Store. What is over was taken out of line before.

    using EntryFlight = Flight<std::vector<Entry>>;
    virtual void enter(std::span<const Contender> contenders,
                       std::shared_ptr<EntryFlight> flight) = 0;
    virtual Pending<Standing> look_at(const Entrant& entrant) = 0;
    virtual Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                                 Extension extension) = 0;
    virtual Pending<Standing> leave(const Ticket& ticket) = 0;
    virtual Pending<std::vector<Line>> inspect(std::string prefix) = 0;
    virtual Pending<std::vector<Line>> inspect_one(const std::string& resource) = 0;
    virtual Capabilities capabilities() const = 0;
    virtual Wire& wire() = 0;
    /// See Store::description().
    virtual std::string shown() const = 0;
    /// Nobody uses it any more: says so to the server, and does not wait for long.
    virtual void close() noexcept {}

    // What Lines asks for.

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
    /// Whether a leftover has gone with its session, or is about to.
    virtual bool is_over(const Leftover& leftover) const = 0;
    /// Says what came of it by Lines::was_removed() or Lines::removal_unanswered().
    virtual void remove(const Leftover& leftover) = 0;
    /// What is over beside that.
    virtual void tidy(Moment /*now*/) {}
};

}  // namespace holdfast::inline v0::listed
