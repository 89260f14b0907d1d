#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "port/wire.hpp"
#include "stores/net/backoff.hpp"
#include "stores/net/bell.hpp"
#include "stores/net/conversation.hpp"
#include "stores/net/listening.hpp"
#include "stores/net/outflow.hpp"
#include "stores/redis/address.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/link.hpp"
#include "stores/redis/reply.hpp"

namespace holdfast::inline v0::redis {

using Answer = net::Answer<Reply>;

/// The connections of one client to a server. Requests of all threads share one connection: whoever
/// waits reads for everybody, and requests that overlap go out together. A second connection, made
/// when somebody first listens, brings what the server pushes.
///
/// Whatever was under way when the connection breaks is sent again on the next one, until its time
/// is up: every request of ours may be repeated. The first connection is sought as patiently.
class RedisWire final : public Wire {
public:
    /// Hears what comes by the second connection.
    using Listener = net::Listener<Reply>;
    struct Pushes {
        std::string channel;
        /// Whether the requests' connection has its reads tracked, and the second one told.
        bool tracked = false;
    };

    RedisWire(Address address, Pushes pushes);
    ~RedisWire() override;

    using Answered = Callback<void(Answer)>;
    /// Sends it, soon; `answered` is called once, as one of the callbacks of a turn.
    void submit(Command command, Answered answered);

    /// Opens the second connection and keeps it open. The listener is held weakly.
    void listen(const std::weak_ptr<Listener>& listener);
    /// Which period of listening without a gap this is; nought while nothing is heard.
    std::uint64_t listening() const noexcept { return listening_.period(); }

private:
    struct Request : net::Question<Answer> {
        Request(Command asked, Answered told, Moment until)
            : Question(until, std::move(told)), command(std::move(asked)) {}

        Command command;
    };
    using Lock = std::unique_lock<std::mutex>;

    void turn(std::optional<Moment> until, Due& due) override;
    bool may_await(std::optional<Moment> until) const;
    void await_answer(Lock& lock, Due& due);
    std::optional<Moment> earliest(std::optional<Moment> until) const;
    void serve(Moment now, Due& due);
    void serve_requests(Moment now, Due& due);
    void serve_pushes(Moment now, Due& due);
    /// What one of the links has brought.
    struct Arrival {
        std::vector<Reply> replies = {};
        std::optional<Failure> failure = std::nullopt;
    };
    static void read(Link& link, short events, Arrival& arrival);
    void take_answers(Due& due);
    void take_answer(std::size_t requests, Reply reply, Due& due);
    void refused_together(std::string_view text, std::size_t requests);
    void take_pushes(Due& due);
    void expire(Moment now, Due& due);
    void settle(std::unique_ptr<Request> request, Reply reply, Due& due);
    void lost(Moment now, Due& due);
    void pushes_ready(Due& due);
    void pushes_lost(Moment now, Due& due);
    void track();
    void ping(Moment now, Due& due);
    void flush(Lock& lock);
    void encode_outbox(std::string& bytes);
    std::size_t size_of_group(std::size_t first) const;
    bool may_send() const;
    bool may_encode() const;

    const Address address_;
    const Pushes pushes_;
    const net::Bell bell_;

    mutable std::mutex mutex_;
    Link requests_;
    net::Conversation<Request> conversation_;
    net::Outflow outflow_;
    std::deque<std::size_t> batch_sizes_;  ///< in answers, of what is in flight, as it went out
    std::deque<std::size_t> group_sizes_;  ///< in requests, for each answer that is to come
    bool together_by_text_ = true;         ///< the server may not know the script yet
    Moment apart_until_{};                 ///< it refused some that were sent together
    std::vector<const Command*> group_;    ///< empty
    net::Backoff requests_backoff_;

    // Of a turn: whoever leads has them to itself.
    Arrival answers_;
    Arrival messages_;

    Link pushes_link_;
    net::Listening<Reply> listening_;
    std::string unsent_ping_;
    Moment next_ping_ = Moment::max();
    std::optional<Moment> pong_due_;
};

}  // namespace holdfast::inline v0::redis
