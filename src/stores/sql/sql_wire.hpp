#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/callback.hpp>

#include "port/wire.hpp"
#include "stores/net/backoff.hpp"
#include "stores/net/bell.hpp"
#include "stores/sql/address.hpp"
#include "stores/sql/dialect.hpp"
#include "stores/sql/session.hpp"

namespace holdfast::inline v0::sql {

/// What became of a request.
struct Answer {
    Result<Reply> result;
    /// The connection broke at least once while it was under way: an earlier copy of it may have
    /// been carried out, or may still be.
    bool repeated = false;
};

/// The connections of one client to a server: a handful for the requests of all threads, made when
/// all others are busy, and one more that brings what is told to waiters, made when somebody first
/// listens. A request is handed to a connection by whoever makes it, and whoever waits reads for
/// everybody. Requests for one resource go one after the other, in the order in which they were
/// made: so a line has that order too.
///
/// Whatever was under way when a connection breaks is sent again on the next one, until its time is
/// up: every request of ours may be repeated.
class SqlWire final : public Wire {
public:
    /// What comes by the listening connection, as one of the callbacks of a turn.
    class Listener {
    public:
        virtual ~Listener() = default;
        /// What was told until now may have been missed, whether or not anything is heard from now
        /// on: see listening().
        virtual void missed() = 0;
        virtual void pushed(const std::string& message) = 0;
    };

    SqlWire(Address address, std::shared_ptr<const Dialect> dialect);
    ~SqlWire() override;

    using Answered = Callback<void(Answer)>;
    /// Sends it, soon; `answered` is called once, as one of the callbacks of a turn. It is given up
    /// after request_timeout, over lost connections and failed attempts to connect, the first too.
    void submit(Call call, Answered answered);

    /// Opens the listening connection and keeps it open. The listener is held weakly.
    void listen(const std::weak_ptr<Listener>& listener);
    /// Which period of listening without a gap this is; nought while nothing is heard.
    std::uint64_t listening() const noexcept { return listening_.load(); }

private:
    struct Request {
        Call call;
        Answered answered;
        const Moment deadline;
        bool repeated = false;
        bool schema_made = false;
        std::optional<Failure> trouble = std::nullopt;  ///< that it met, and that was to pass
        std::optional<Answer> answer = std::nullopt;
    };
    using Requests = std::deque<std::unique_ptr<Request>>;
    /// A connection, and what is under way on it.
    struct Slot {
        std::unique_ptr<Session> session;
        Moment open_until;
        std::unique_ptr<Request> request = nullptr;
        bool making_schema = false;

        bool idle() const { return session->state() == Session::State::idle && !request; }
    };

    void turn(std::optional<Moment> until, Due& due) override;
    void serve(Moment now, Due& due);
    void serve_slot(Slot& slot, Moment now, Due& due);
    void take_reply(Slot& slot, Reply reply, Due& due);
    void refused(Slot& slot, const ServerError& error, Due& due);
    void broken(Slot& slot, Moment now, Due& due);
    void attempt_failed(const Failure& failure, Due& due);
    Requests::iterator next_to_go();
    void hand_out();
    void open_more(Moment now);
    void expire(Moment now, Due& due);
    void serve_pushes(Moment now, Due& due);
    void advance_pushes(Moment now, const Due& due);
    void pushes_lost(Moment now, Due& due);
    void missed(Due& due);
    std::optional<Moment> earliest(std::optional<Moment> until) const;
    void list_descriptors();
    static void finish(std::unique_ptr<Request> request, Result<Reply> result, Due& due);

    const Address address_;
    const std::shared_ptr<const Dialect> dialect_;
    const net::Bell bell_;

    std::mutex mutex_;
    Requests outbox_;  ///< not yet handed to a connection
    std::vector<Slot> slots_;
    net::Backoff backoff_;
    Moment held_back_until_{};
    std::vector<pollfd> polled_;  ///< of a turn: whoever leads has it to itself

    std::optional<Slot> pushes_;
    std::weak_ptr<Listener> listener_;
    bool wants_pushes_ = false;
    std::optional<Moment> listen_again_by_;
    net::Backoff pushes_backoff_;
    std::uint64_t periods_ = 0;
    std::atomic<std::uint64_t> listening_{0};
};

}  // namespace holdfast::inline v0::sql
