#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/error.hpp>

#include "stores/listed/listed_store.hpp"
#include "stores/zookeeper/doubts.hpp"
#include "stores/zookeeper/endings.hpp"
#include "stores/zookeeper/line_nodes.hpp"
#include "stores/zookeeper/node_path.hpp"
#include "stores/zookeeper/zookeeper_wire.hpp"

namespace holdfast::inline v0::zookeeper {

using listed::Entrant;
using listed::Incarnation;
using listed::Judgement;
using listed::Removal;

/// The paths that something was seen of, for a hint: when they are too many, they are forgotten.
/// Threads: all members may be called from any thread.
class Sightings {
public:
    void add(const std::string& path) {
        constexpr std::size_t most_remembered = 4096;
        const std::lock_guard guard(mutex_);
        if (paths_.size() >= most_remembered) paths_.clear();
        paths_.insert(path);
    }
    void remove(const std::string& path) {
        const std::lock_guard guard(mutex_);
        paths_.erase(path);
    }
    bool contains(const std::string& path) const {
        const std::lock_guard guard(mutex_);
        return paths_.contains(path);
    }

private:
    mutable std::mutex mutex_;
    std::set<std::string> paths_;
};

/// ZooKeeper as one client uses it: an ephemeral sequential node for each contender, below that of
/// its resource, in the session for its lease; and with barging one at the resource's own path.
/// Threads: all members may be called from any thread.
class Protocol final : public listed::Protocol,
                       public Listener,
                       public std::enable_shared_from_this<Protocol> {
public:
    explicit Protocol(Ensemble ensemble) : paths(ensemble.chroot), wire_(std::move(ensemble)) {}
    /// Throws Error when no server can be reached, or none lets us in. Before anything else.
    void connect();

    const Paths paths;
    Doubts doubts;
    Endings endings;
    Sightings occupied;  ///< resources in whose line somebody was when it was last looked at
    Sightings unread;    ///< nodes that are another user's to read: nothing is told of them

    ZookeeperWire& wire() override { return wire_; }
    const Ensemble& ensemble() const { return wire_.ensemble(); }
    std::string shown() const override { return ensemble().shown(); }
    Capabilities capabilities() const override;
    Result<Examination> examine() override;

    void enter(std::span<const Contender> contenders, std::shared_ptr<EntryFlight> flight) override;
    Pending<Standing> look_at(const Entrant& entrant) override;
    /// For each session one write for all its tickets, and behind it a look at each.
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override;
    Pending<Standing> leave(const Ticket& ticket) override;
    Pending<std::vector<Line>> inspect(std::string prefix) override;
    Pending<std::vector<Line>> inspect_one(const std::string& resource) override;

    /// Of the session that a contender tries to get in with.
    Term term_of(const Contender& contender) const {
        return wire_.term_for(ensemble().term_of(contender.lease));
    }
    /// Of the session that it came with, while that is there.
    Term term_of(const Entrant& entrant) const {
        return wire_.term_of(entrant.session).value_or(term_of(entrant.contender));
    }
    /// Whether the session that it came with is there.
    bool is_of_present_session(const Entrant& entrant) const {
        return wire_.term_of(entrant.session).has_value();
    }

    /// `read(protocol, answer)` is called unless this is gone by then. Should it throw because a
    /// reply is not what belongs to its request, it is called again, with a failure.
    template <class Read>
    void submit(Term term, Volley&& volley, Read read) {
        wire_.submit(
            term, std::move(volley), [weak = weak_from_this(), read](Answer answer) mutable {
                const auto self = weak.lock();
                if (!self) return;
                Answer unreadable{
                    {Failure{errc::unreachable, Effect::unknown, {}}, true, answer.sent},
                    answer.session};
                try {
                    read(*self, std::move(answer));
                } catch (const Error& error) {
                    if (error.code() != errc::corrupt) throw;
                    unreadable.result = Failure{
                        errc::unreachable, Effect::unknown,
                        self->ensemble().shown() + ": a reply that is none (" + error.what() +
                            "); check that host and port are a ZooKeeper server's"};
                    read(*self, std::move(unreadable));
                }
            });
    }

    /// Where a contender of ours stands by what was answered about it: the list of its line, or,
    /// with barging, its node. Remembers it, and watches what it must.
    Standing stands(const Entrant& entrant, const Reply& reply);
    /// In the background: a node that has its name to itself.
    void remove_node(Term term, const std::string& node);
    /// A deletion of a node of this session was not answered: it is made again. With barging only
    /// while the node is the same.
    void remove_later(const Incarnation& incarnation);
    /// Takes it out of line again, in the background. Whoever asks is told that it is gone.
    void withdraw(const Entrant& entrant);
    /// A copy of the enter that has this nonce may still arrive.
    void doubt(Term term, const std::string& path, const Nonce& nonce);

    void session_over(std::int64_t session) override;
    void session_shortened(std::int64_t session, std::chrono::milliseconds granted) override;
    void stirred(std::int64_t session, const std::string& path, Event::What what) override;
    void watched(std::int64_t session, const std::string& path) override {
        lines.entrants.is_watched(path, session);
    }
    void unheard(std::int64_t session, const std::string& path) override;

    /// What is told of a node in line is told in order by its session, and its name is its own.
    bool goes_by_events(const Entrant& entrant) const override { return !entrant.is_barging(); }
    void watch(const Entrant& entrant) override;
    void tell_those_behind(const Entrant& entrant) override;
    void take_out_behind(const Entrant& entrant, const Neighbour& other,
                         Callback<void()> is_out) override;
    void take_back(const Entrant& entrant) override;
    void outlived(const Entrant& entrant) override;
    bool is_over(const Removal& removal) const override;
    void remove(const Removal& removal) override;
    /// Looks for late copies of an enter.
    void tidy(Moment now) override;

private:
    Pending<Standing> take_if_free(const Entrant& entrant);
    bool is_deaf(const Nonce& nonce) const;
    void look_for_copies(const Nonce& nonce, const Doubts::Doubt& doubt);
    void remove_copies(const Nonce& nonce, const Doubts::Doubt& doubt,
                       const std::vector<std::string>& children);
    void remove_barging_copy(const Nonce& nonce, const Doubts::Doubt& doubt,
                             const Reply::Content& content);

    ZookeeperWire wire_;
};

}  // namespace holdfast::inline v0::zookeeper
