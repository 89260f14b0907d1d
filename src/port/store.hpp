#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/callback.hpp>
#include <holdfast/options.hpp>
#include <holdfast/upkeep.hpp>

#include "port/contender.hpp"
#include "port/pending.hpp"
#include "port/wire.hpp"

namespace holdfast::inline v0 {

/// What a store can do. Asking for anything else is refused when the lock is made.
struct Capabilities {
    bool fifo = false;
    bool barging = false;
    bool barging_shares = true;  ///< barging also for readers and permits, not for a mutex alone
    Fairness default_fairness = Fairness::fifo;
    bool shared = false;          ///< readers beside each other
    bool permits = false;         ///< capacities other than all
    bool reenter = false;         ///< joins holds of one owner across processes
    bool enter_together = false;  ///< enter takes several contenders in one atomic request
    bool fences = true;           ///< a hold's number rises; where not, it is always 0
    bool lengthens = true;        ///< a lease can become longer than the one it was entered with
    std::chrono::milliseconds longest_lease = std::chrono::hours{24};
    /// The longest lease of one reader beside others, where that is less.
    std::chrono::milliseconds longest_shared_lease = std::chrono::hours{24};
    /// What sets the limit of all, for a sentence: "the session that the servers grant".
    std::string_view longest_lease_is = {};
    /// Why it cannot do the rest, and what can, for a sentence.
    std::string_view because = {};
};

/// A bounded part of a sweep.
struct SweepStep {
    Swept removed = {};
    std::string next = {};   ///< where the next step starts; empty: that was all
    double looked_at = 1.0;  ///< how much of the store, by now
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
