#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "port/wire.hpp"
#include "stores/net/bell.hpp"
#include "stores/zookeeper/attachment.hpp"

namespace holdfast::inline v0::zookeeper {

/// The sessions of one client, an attachment for each: made when it is first used, and again when
/// it is over. Whoever waits reads for everybody, on all connections.
class ZookeeperWire final : public Wire {
public:
    explicit ZookeeperWire(Ensemble ensemble);
    ~ZookeeperWire() override;
    /// Before anything is submitted.
    void listen(const std::weak_ptr<Listener>& listener);

    /// See Attachment::submit().
    void submit(Term term, Volley volley, Answered answered);

    /// Tells, once for each, when one of the nodes changes or ends, and at once when it is not
    /// there. One that is watched already is not asked about again. What was written since that
    /// transaction has changed; 0: that does not matter.
    void watch(Term term, const std::vector<std::string>& paths, std::int64_t since = 0);

    /// Of the session that serves one who would ask for this: another one that asked for more than
    /// the servers grant, or it has one for itself. That may change with the servers' settings, so
    /// it is asked for once, and whoever has a node goes by the session that it came with.
    Term term_for(Term asked) const;
    /// The session of this term that there is now; 0: none.
    std::int64_t session(Term term) const;
    /// Of the session that there is now; nothing when it is over.
    std::optional<Term> term_of(std::int64_t session) const;
    /// Whether it was one of ours, and is over; of those that ended last.
    bool is_past(std::int64_t session) const;
    /// As negotiated with the servers.
    std::chrono::milliseconds session_timeout(Term term) const;
    /// The longest that a server has granted, at most a day. Another one may grant less.
    std::chrono::milliseconds longest_session() const;
    /// For what belongs to no session: one that is connected already, if there is one.
    Term any_term() const;
    /// See Standing::counted_from.
    Moment counted_from(Term term, Moment sent, std::chrono::nanoseconds lease) const;
    const Ensemble& ensemble() const noexcept { return ensemble_; }

private:
    using Lock = Attachment::Lock;
    /// What the server has of a watch that is of no use.
    enum class WatchLeft : std::uint8_t { none, one };

    void turn(std::optional<Moment> until, Due& due) override;
    void take_arrived(Due& due);
    std::optional<Moment> prepare(std::optional<Moment> until, Due& due);
    Attachment& attachment(Term term);
    Attachment* find(Term term) const;
    std::chrono::milliseconds limit() const;
    void watches_answered(Listener& listener, Term term, const std::vector<std::string>& asked,
                          std::int64_t since, const Answer& answer);
    void watch_answered(Term term, const std::string& path, std::int64_t since, const Reply& reply,
                        std::int64_t session);
    void watch_unreadable(Term term, const std::string& path);
    bool unwatch(Term term, const std::string& path, WatchLeft left);
    void say_goodbye() noexcept;

    const Ensemble ensemble_;
    const net::Bell bell_;

    mutable std::mutex mutex_;
    std::weak_ptr<Listener> listener_;
    std::map<Term, std::unique_ptr<Attachment>> attachments_;  ///< none is ever taken out

    // Of whoever leads.
    std::vector<pollfd> polled_;
    std::vector<Attachment*> polled_for_;
    std::deque<std::pair<Attachment*, Attachment::Arrival>> arrived_;  ///< and not taken yet
};

}  // namespace holdfast::inline v0::zookeeper
