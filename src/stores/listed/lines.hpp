#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "port/store.hpp"
#include "port/watchers.hpp"
#include "stores/listed/entrants.hpp"
#include "stores/listed/judgement.hpp"
#include "stores/listed/removals.hpp"

namespace holdfast::inline v0::listed {

class Server;

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
    void tell_those_behind(const Entrant& entrant);

    /// Forgets it, and what it watched.
    std::optional<Entrant> forget(const Nonce& nonce);
    /// They are out of line already, and end in the background; whoever watches is told so.
    void take_back(const std::vector<Entrant>& taken);
    /// All that came with it are gone.
    void session_over(std::int64_t session);

    /// In the background, and again until that is answered or its session is over.
    void remove(const Removal& removal);
    /// As remove(), of what was tried to be removed just now.
    void remove_later(const Removal& removal) { removals_.add(removal); }
    void was_removed(const Removal& removal) { removals_.settled(removal); }
    void removal_unanswered(const Removal& removal);

private:
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
