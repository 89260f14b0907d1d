#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <holdfast/callback.hpp>

#include "port/clock.hpp"
#include "port/store.hpp"
#include "port/watchers.hpp"
#include "stores/listed/entrants.hpp"
#include "stores/listed/judgement.hpp"
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
    /// It is admitted: those behind it that wait for that, by Judgement::by_change, are to hear of
    /// it.
    virtual void tell_those_behind(const Entrant& entrant) = 0;
    /// Ends it, but only while the other one is there. `is_out` is called if that was done.
    virtual void take_out_behind(const Entrant& entrant, const Neighbour& other,
                                 Callback<void()> is_out) = 0;
    /// take_out_behind() has done it, or somebody else: it was not there any more.
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

/// The lines that contenders of this client are in: where each of them stands by the list of its
/// line, what it waits for, who is told when that may have changed, and how it ends when nobody
/// cares for it any more.
/// Threads: all members may be called from any thread.
class Lines {
public:
    /// Which owns this, and calls back only while it is there.
    explicit Lines(Server& server) : server_(server) {}

    Entrants entrants;

    /// Takes what is over out of line: leases that nobody renewed while this client was busy or
    /// paused, and what could not be removed before. Each verb begins with it.
    void tidy();
    /// See Store::watch().
    std::unique_ptr<Watch> watch(const Nonce& nonce, LineMoved line_moved);
    /// Watches what it waits for, if somebody wants to hear of it.
    void arm(const Nonce& nonce);

    /// That has become of a node which is watched no more. Where a session is named, it concerns
    /// only those that came with it, or with none. `told` is what they hear of it.
    void stir(const std::string& node, NodeEvent event,
              std::optional<std::int64_t> session = std::nullopt,
              const Standing& told = {.state = Standing::State::waiting});
    /// Whatever it is that each waits for, it is to look.
    void stir_all();

    /// What one that has come in, and was judged to wait, waits for: by the list of that change.
    void place(Entrant& entrant, const Judgement& judgement, std::int64_t listed_at) const;
    /// Where a contender stands by the list of its line. Remembers it, and watches what it must.
    Standing stands(const Entrant& entrant, std::span<const Neighbour> line,
                    std::int64_t listed_at);
    /// It is admitted, unless it was taken out of line meanwhile.
    Standing admit(const Entrant& seen);
    /// It is admitted as it comes in, by the list of its line. Those that came in behind it before
    /// that may have taken it for one that waits, or that is about to leave: they are told.
    void admitted_at_once(Entrant& entrant, std::span<const Neighbour> line);

    /// Forgets it, and what it watched.
    std::optional<Entrant> forget(const Nonce& nonce);
    /// It is not there any more, though nobody has asked for that.
    void was_lost(const Entrant& seen);
    /// They are out of line already, and end in the background; whoever watches is told so.
    void take_back(const std::vector<Entrant>& taken);
    /// All that came with it are gone.
    void session_over(std::int64_t session);

    /// In the background, and again until that is answered or its session is over.
    void remove(const Removal& removal);
    /// As remove(), of what was tried to be removed just now, or is to stay until then.
    void remove_later(const Removal& removal, Moment due = {}) { removals_.add(removal, due); }
    void was_removed(const Removal& removal) { removals_.settled(removal); }
    void removal_unanswered(const Removal& removal);

private:
    void remove_again(const Removal& removal);
    void ask_to_remove(const Removal& removal);
    void tell_those_behind(const Entrant& entrant);
    bool has_lost_its_node(const Entrant& entrant, const std::string& node) const;
    void wait(const Entrant& entrant, const Judgement& judgement, std::int64_t listed_at);
    void was_ended(const Entrant& entrant);
    void leave_behind(const Entrant& entrant, const Neighbour& other);
    void unwatch(const Entrant& entrant);
    void tell_gone(const Entrant& entrant) { watchers_->call(entrant.nonce(), {}); }

    Server& server_;
    Removals removals_;
    const std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();
};

}  // namespace holdfast::inline v0::listed
