#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stores/redis/address.hpp"
#include "stores/redis/confirmations.hpp"
#include "stores/redis/link.hpp"
#include "stores/redis/request.hpp"

namespace holdfast::inline v0::redis {

/// Asks a master, by a connection of its own, how many replicas have what it answered: WAIT stalls
/// everybody on its connection.
///
/// WAIT counts those that have the last write of *its own* connection, and for one that has written
/// nothing that is everybody. So each round first writes a key of no meaning, behind all that was
/// answered before. (PING would do for servers of version 7.0, not for later ones.)
/// Threads: whoever leads, under the lock of the wire.
class Confirmer {
public:
    using Due = net::Due;

    /// The greeting ends with INFO server. The address must outlive it.
    Confirmer(const Address& address, Part part, std::vector<Command> greeting,
              const std::function<void()>& resolved);

    Link& link() noexcept { return link_; }
    const Link& link() const noexcept { return link_; }
    bool is_idle() const noexcept { return confirmations_.empty(); }
    /// How many are to be confirmed.
    std::size_t size() const noexcept { return confirmations_.size(); }
    /// The server has, or should have, so many replicas. A smaller number than before is forgotten:
    /// one that is away still counts as one that must confirm.
    void knows_of(std::size_t replicas) noexcept;
    std::size_t known() const noexcept { return known_; }

    /// Its reply says that somebody holds; not before the replicas do.
    void add(std::unique_ptr<Request>&& request, Reply reply);
    /// Goes on with what is to be sent, and tells those whose time is up.
    void serve(Moment now, Due& due);
    /// Whether an answer is overdue, so that both connections are of no use.
    bool is_overdue(Moment now) const noexcept { return now >= patience_ends(); }
    /// What has come in. A failure: this server confirms nothing any more.
    std::optional<Failure> take(std::vector<Reply>& replies, Due& due);
    /// Closes the connection.
    void close() noexcept;
    /// What was not confirmed waits there to be asked again.
    void give_back(net::Outbox<Request>& outbox) { confirmations_.give_back(outbox); }

    bool has_unsent() const noexcept { return !unsent_.empty(); }
    /// When something is due by itself; never: Moment::max().
    Moment earliest() const;
    /// When the round that is under way should have been answered; none is: Moment::max().
    Moment round_ends() const noexcept { return round_ends_; }

private:
    Moment patience_ends() const noexcept;
    bool may_begin() const noexcept;
    void begin_round(Moment now);
    void send();
    std::optional<Failure> end_round(Due& due);
    Failure trouble_with(const std::string& error) const;
    Failure too_few() const;

    const Address& address_;
    const Script write_;
    Link link_;
    Confirmations confirmations_;
    std::size_t known_ = 0;       ///< replicas, the most that were seen
    std::size_t confirming_ = 0;  ///< how many had it in the last round
    std::vector<Reply> answers_;  ///< of this round, so far
    std::string unsent_;
    Moment round_ends_ = Moment::max();
    Moment next_round_{};  ///< not before
};

}  // namespace holdfast::inline v0::redis
