#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "port/wire.hpp"
#include "stores/net/backoff.hpp"
#include "stores/net/bell.hpp"
#include "stores/net/listening.hpp"
#include "stores/net/outbox.hpp"
#include "stores/sql/address.hpp"
#include "stores/sql/dialect.hpp"
#include "stores/sql/forgetting.hpp"
#include "stores/sql/session.hpp"

namespace holdfast::inline v0::sql {

using Answer = net::Answer<Reply>;

/// The connections of one client to a server: a handful for the requests of all threads, made when
/// all others are busy, and one more that brings what is told to waiters, made when somebody first
/// listens. A request is handed to a connection by whoever makes it, and whoever waits reads for
/// everybody. Requests for one resource go one after the other, and those that enter in the order
/// in which they were made: so a line has that order too. What gives back goes before what wants,
/// and a renewal waits for nobody: it names whom it is about, and never brings back who is gone.
/// The last connection is for renewals alone, and the one before it for them and for what gives
/// back; and what waits in the server for a locked row gives up, and goes behind the others.
///
/// Whatever was under way when a connection breaks is sent again on the next one, until its time is
/// up: every request of ours may be repeated. A connection of which an exception (out of memory,
/// say) has left something half done is taken for broken.
class SqlWire final : public Wire {
public:
    /// Hears what comes by the listening connection.
    using Listener = net::Listener<std::string>;

    SqlWire(Address address, std::shared_ptr<const Dialect> dialect);
    ~SqlWire() override;

    using Answered = Callback<void(Answer)>;
    /// Sends it, soon; `answered` is called once, as one of the callbacks of a turn. It is given up
    /// after request_timeout, over lost connections and failed attempts to connect, the first too.
    void submit(Call call, Answered answered);

    /// Opens the listening connection and keeps it open. The listener is held weakly.
    void listen(const std::weak_ptr<Listener>& listener);
    /// Which period of listening without a gap this is; nought while nothing is heard.
    std::uint64_t listening() const noexcept { return listening_.period(); }

private:
    struct Request : net::Question<Answer> {
        Request(Call asked, Answered told, Moment until)
            : Question(until, std::move(told)), call(std::move(asked)) {}

        Call call;
        const bool renews = call.verb == "renew";
        const bool is_urgent = renews || call.verb == "leave";
        std::string met = {};         ///< why an earlier copy came to nothing
        bool waited_in_vain = false;  ///< in the server, and long
        bool schema_made = false;
        bool renews_many() const { return renews && call.rows.size() > 1; }
        bool forgets = false;  ///< asked by nobody: see Forgetting
    };
    using Outbox = net::Outbox<Request>;
    /// A connection, and what is under way on it.
    struct Slot {
        std::unique_ptr<Session> session;
        Moment open_until;
        std::unique_ptr<Request> request = nullptr;
        bool making_schema = false;
        bool torn = false;  ///< by an exception

        bool idle() const { return session->state() == Session::State::idle && !request && !torn; }
    };

    void turn(std::optional<Moment> until, Due& due) override;
    void serve(Moment now, Due& due);
    void make_room(Due& due) const;
    void give_back(Slot& slot, Moment now);
    void serve_slot(Slot& slot, Moment now, Due& due);
    void go_on(Slot& slot, Moment now, Due& due);
    void take_reply(Slot& slot, Reply reply, Due& due);
    void refused(Slot& slot, const ServerError& error, Due& due);
    void leave_server(Slot& slot, Moment now, Due& due);
    void drop(Slot& slot, Moment now);
    void broken(Slot& slot, Moment now, Due& due);
    bool must_wait(const Request& request) const;
    Outbox::Requests::const_iterator next_to_go() const;
    bool is_behind_one_in_vain(const Outbox::Requests::const_iterator& one) const;
    void hand_out();
    void ask(Slot& slot);
    void open_more(Moment now);
    void forget_some();
    void forgot(Slot& slot, const Result<Reply>& result);
    void expire(Moment now, Due& due);
    void serve_pushes(Moment now, Due& due);
    void take_pushes(Moment now, Due& due);
    void advance_pushes(Moment now, const Due& due);
    void pushes_lost(Moment now, Due& due);
    std::optional<Moment> earliest(std::optional<Moment> until) const;
    void list_descriptors();

    const Address address_;
    const std::shared_ptr<const Dialect> dialect_;
    const net::Bell bell_;

    std::mutex mutex_;
    Outbox outbox_;
    std::vector<Slot> slots_;
    net::Backoff backoff_;
    Forgetting forgetting_;
    std::vector<pollfd> polled_;  ///< of a turn: whoever leads has it to itself

    std::optional<Slot> pushes_;
    net::Listening<std::string> listening_;
    std::optional<Moment> listen_again_by_;
};

}  // namespace holdfast::inline v0::sql
