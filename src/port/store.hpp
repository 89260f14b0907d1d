#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <holdfast/callback.hpp>
#include <holdfast/checkup.hpp>
#include <holdfast/options.hpp>
#include <holdfast/stores.hpp>
#include <holdfast/upkeep.hpp>

#include "port/contender.hpp"
#include "port/pending.hpp"
#include "port/wire.hpp"

namespace holdfast::inline v0 {

/// A bounded part of a sweep.
struct SweepStep {
    Swept removed = {};
    std::string next = {};   ///< where the next step starts; empty: that was all
    double looked_at = 1.0;  ///< how much of the store, by now
};

/// What a store finds out about its servers.
struct Examination {
    std::vector<Finding> findings = {};
    /// The clock that leases are counted by, where that is a server's: microseconds since 1970.
    std::optional<std::chrono::microseconds> server_clock = {};
    /// When that was asked for, and when it was answered.
    Moment clock_asked{}, clock_told{};
};

/// What a store pushes to a waiter: `offered` when it is its turn, `gone` when it was thrown out,
/// otherwise `waiting`, which says: ask for your standing again, after look_again if there is one.
using LineMoved = Callback<void(Standing)>;

/// A registered interest in a ticket's standing. After its destructor there is no callback.
class Watch {
public:
    virtual ~Watch() = default;
};

/// The port: what a store implements, and nothing more. Every verb may be repeated with the same
/// arguments. Arguments are copied before a verb returns. All members may be called from any
/// thread.
class Store {
public:
    virtual ~Store() = default;

    /// Puts contenders into their lines, in the order given, in one round trip where the server
    /// allows it. Stops behind the first that is not admitted: nobody stands in a later line while
    /// waiting in an earlier one. So the answer has one entry for each contender looked at, all
    /// admitted but perhaps the last. When the last is gone (Patience::none and busy), nothing of
    /// this request is left in any line. Several contenders need Capabilities::enter_together.
    virtual Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) = 0;

    /// Where the ticket stands now. Extends nothing; may throw out whoever's lease has ended.
    virtual Pending<Standing> standing(const Ticket& ticket) = 0;

    /// Calls `line_moved`, without lock or leadership held, whenever the ticket's standing may have
    /// changed since the ticket was given, also before this call. Wakes whom it concerns only; a
    /// watch costs no thread and no connection. Callbacks come while a thread lends itself to
    /// wire(): see Wire.
    virtual std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) = 0;

    /// Extends the leases, claims what is offered, and answers one standing for each ticket, in
    /// order. Never re-creates: a ticket that is not there is gone. A copy that comes after a later
    /// one of the same contender changes nothing: see Extension.
    virtual Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                                 Extension extension) = 0;

    /// Takes the contender out of line and passes its place on. Answers where it stood: gone when
    /// it was not there, and then another holder may have run. For a ticket without a place it
    /// leaves a tombstone, so that a delayed enter is refused.
    virtual Pending<Standing> leave(const Ticket& ticket) = 0;

    /// All lines whose resource starts with `prefix`, sorted by resource.
    virtual Pending<std::vector<Line>> inspect(std::string prefix) = 0;

    /// The line of this resource, if anybody is in it; perhaps others, as inspect() finds them. For
    /// stores where looking at one is cheaper than looking for all that start like it.
    virtual Pending<std::vector<Line>> look_at(const std::string& resource) {
        return inspect(resource);
    }

    /// Removes what is over, where that is not done in passing: a part of it, from where the step
    /// before it says (empty: from the start).
    virtual Pending<SweepStep> sweep(const std::string& /*from*/) { return SweepStep{}; }

    /// Says of the store's servers that they were never used, where that has to be said before they
    /// are of use at once. Answers how many were told; refused when it is not so.
    virtual Pending<std::size_t> initialize() { return std::size_t{0}; }

    virtual Capabilities capabilities() const = 0;

    /// What on its servers, or in its URL, makes locks less safe or slower than they could be: asks
    /// them, and changes nothing. Waits for the answers, each as long as for any request. What they
    /// refuse to tell is a finding too.
    virtual Result<Examination> examine() { return Examination{}; }

    /// Whether a verb may keep its caller for longer than a moment before it returns: because it
    /// works on the caller's own thread, and other processes may be in its way. Then whoever must
    /// not wait leaves it to another thread.
    virtual bool may_block() const noexcept { return false; }

    /// Whether of two requests of this client about one resource that which was made first is
    /// carried out first, unless one is lost.
    virtual bool in_order() const noexcept { return true; }

    /// A new descriptor that keeps this client from being taken for dead until it is closed, also
    /// when this process has ended; the one with that pid will have it. -1 where nothing but a
    /// lease tells.
    virtual int share_life(int /*pid*/) { return -1; }

    /// Where callers of this store wait, and where its callbacks come from.
    virtual Wire& wire() = 0;

    /// The store in a sentence, without its password: "local store /var/lib/holdfast".
    virtual const std::string& description() const = 0;
};

}  // namespace holdfast::inline v0
