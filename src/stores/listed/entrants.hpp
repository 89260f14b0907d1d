#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "port/clock.hpp"
#include "port/contender.hpp"
#include "stores/listed/judgement.hpp"

namespace holdfast::inline v0::listed {

/// What a ticket's place says: which node it is, and which of those that had its name.
struct Incarnation {
    std::int64_t session = 0;
    std::int64_t made_by = 0;  ///< the change that made it, which is the fence
    std::string node;
};
std::string text_of(const Incarnation& incarnation);
/// Nothing when it is not ours.
std::optional<Incarnation> incarnation_in(std::string_view place);

/// A contender of this client that is in line.
struct Entrant {
    Contender contender;
    std::string path;       ///< of the resource
    std::string node = {};  ///< its own, with its path; empty while it waits with barging
    /// What it came with, and goes with: a session of ZooKeeper, a lease of etcd.
    std::int64_t session = 0;
    std::uint64_t fence = 0;
    Moment lease_end{};
    bool admitted = false;
    /// Of one that waits: whose end or change concerns it.
    std::vector<std::string> watched = {};
    bool by_change = false;      ///< by a change too: see Judgement
    std::int64_t listed_at = 0;  ///< the change up to which that is known; 0: none
    bool next = false;           ///< the watched one is the only one ahead
    bool its_turn = false;       ///< and has ended
    /// Its own node is watched in its session, so that its end is told before all that ends later.
    bool own_is_watched = false;
    /// Its own node was changed, which may have been its end: no event admits it, a list does.
    bool by_list = false;
    /// It was in conflict with the first of its line once, and has stayed.
    bool disagreed = false;
    /// The change that wrote it last, as far as is known; 0: the one that made it.
    std::int64_t written_at = 0;
    /// A request to bind it to another session may still arrive.
    bool unsettled = false;
    /// Of the latest renewal: see Extension.
    std::uint64_t serial = 0;
    /// What has stirred was not told yet, because nobody watched.
    bool stirred = false;

    Nonce nonce() const { return contender.nonce; }
    std::int64_t last_written() const {
        return written_at == 0 ? static_cast<std::int64_t>(fence) : written_at;
    }
    Incarnation incarnation() const { return {session, static_cast<std::int64_t>(fence), node}; }
    Ticket ticket() const { return {contender.resource, nonce(), text_of(incarnation())}; }
    bool is_barging() const { return contender.fairness == Fairness::barging; }
};

/// What becomes of a node that is watched.
enum class NodeEvent : std::uint8_t { changed, ended };

/// The contenders of this client that are in line. Nobody else renews them, and none outlives the
/// session that it came with.
/// Threads: all members may be called from any thread.
class Entrants {
public:
    void add(Entrant entrant);
    /// Only in the place of what is known of the same contender. Whether it is there still.
    [[nodiscard]] bool replace(Entrant entrant);
    std::optional<Entrant> find(const Nonce& nonce) const;
    /// What was known of it.
    std::optional<Entrant> remove(const Nonce& nonce);
    /// Only that very place: it may have come again since.
    std::optional<Entrant> remove(const Entrant& seen);

    /// It was seen to be admitted, as what is known of it there. Whether that is in line still: one
    /// that somebody has taken out meanwhile is not admitted, whatever was seen.
    [[nodiscard]] bool admit(const Entrant& seen);
    /// It waits from now on for what it was placed behind: see Lines::place().
    void wait_for(const Entrant& placed);
    /// A renewal with this serial begins. Whether no later one has begun: an earlier one binds
    /// nothing, and shortens nothing.
    bool begin_renewal(const Nonce& nonce, std::uint64_t serial);
    /// It has ended well. Whether the contender is there still.
    [[nodiscard]] bool renewed(const Nonce& nonce, std::uint64_t serial, Moment lease_end);
    /// It is about to be bound to another session.
    void unsettle(const Nonce& nonce);
    /// It goes with that one from now on, by the change that wrote it.
    void moved(const Nonce& nonce, std::int64_t session, std::int64_t written_at);
    /// It was seen to go with that one.
    void found_bound(const Nonce& nonce, std::int64_t session, std::int64_t written_at);
    /// It was written meanwhile.
    void written(const Nonce& nonce, std::int64_t written_at);

    /// Those that wait for this node, or whose own it is; from now on they know that it has ended,
    /// if it has, or that their own may have. Where a session is named, only those that came with
    /// it, or with none.
    std::vector<Nonce> stir(const std::string& node, NodeEvent event,
                            std::optional<std::int64_t> session = std::nullopt);
    /// That node is watched in that session from now on: see Entrant::own_is_watched. Another
    /// session's events are told in no order with its own.
    void is_watched(const std::string& node, std::int64_t session);
    /// Whether somebody waits for this node.
    bool is_awaited(const std::string& node) const;
    /// Whether it was stirred since it was last asked.
    bool take_stir(const Nonce& nonce);

    /// Those that are in line no more, because their lease has ended.
    std::vector<Entrant> take_lapsed(Moment now);
    /// Those that came with that session, which is over.
    std::vector<Entrant> take_of_session(std::int64_t session);

    /// Of those that came with that session and have a longer lease: whoever is admitted goes with
    /// none from now on, and stays; the others are in line no more.
    std::vector<Entrant> take_longer(std::int64_t session, std::chrono::milliseconds lease);

private:
    using ByNonce = std::map<Nonce, Entrant>;
    void put(Entrant entrant);
    Entrant* known(const Nonce& nonce);
    Entrant* known_as(const Entrant& seen);
    Entrant* bind(const Nonce& nonce, std::int64_t session, std::int64_t written_at);
    void forget_watches(const Entrant& entrant);
    Entrant take(ByNonce::iterator place);
    template <class Concerned>
    std::vector<Entrant> take_if(const Concerned& concerned);

    mutable std::mutex mutex_;
    ByNonce entrants_;
    std::map<std::string, std::set<Nonce>> waiting_for_;
    Moment next_lapse_ = Moment::max();  ///< none before
};

}  // namespace holdfast::inline v0::listed
