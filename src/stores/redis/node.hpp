#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stores/net/backoff.hpp"
#include "stores/net/conversation.hpp"
#include "stores/net/listening.hpp"
#include "stores/net/outflow.hpp"
#include "stores/redis/address.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/confirmer.hpp"
#include "stores/redis/functions.hpp"
#include "stores/redis/link.hpp"
#include "stores/redis/probe.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"

namespace holdfast::inline v0::redis {

using Listening = net::Listening<Reply>;

/// What is pushed to a client, and by which channel.
struct Pushes {
    std::string channel = {};
    /// Whether the requests' connection has its reads tracked, and the second one told.
    bool tracked = false;
};

/// One server that serves requests, by one connection that all threads share: requests that overlap
/// go out together. A second connection, made when somebody listens, brings what it pushes. Where
/// replicas must confirm a hold, a third one asks for that.
///
/// What was under way when the connection breaks is sent again on the next one. What the server
/// turns away, because another one serves it or none does just now, is for others to decide about.
/// Threads: all members under the lock of the wire, but for read() and await(), which whoever leads
/// calls without it; whoever leads alone opens and closes links.
class Node {
public:
    using Lock = std::unique_lock<std::mutex>;
    using Due = net::Due;
    /// What a server has to be, by what it says itself on each new connection.
    enum class Part : std::uint8_t {
        any,
        master,
        independent,  ///< it must say which process it is, for requests that name that
    };
    struct TurnedAway {
        Node* node;
        std::unique_ptr<Request> request;
        std::string error;
    };

    Node(Address address, Pushes pushes, Part part, const std::function<void()>& resolved);

    const Address& address() const noexcept { return address_; }
    Host host() const { return {address_.host, address_.port}; }

    // Requests.

    void submit(std::unique_ptr<Request> request) { conversation_.send_again(std::move(request)); }
    /// Whether something may go out now, by any thread.
    bool may_send() const;
    void flush(Lock& lock);
    /// Whether whoever leads has to see to what was submitted: to connect, or to wait for room.
    bool needs_leader() const;
    bool is_connected() const noexcept {
        return requests_.ready() && (!confirmer_ || confirmer_->link().ready());
    }
    /// Which process it is, of an independent one that is connected; else empty.
    std::string_view run() const noexcept;
    bool is_idle() const noexcept {
        return conversation_.is_idle() && (!confirmer_ || confirmer_->is_idle());
    }
    /// Its master should have so many replicas, by what others know of it.
    void knows_of_replicas(std::size_t count) noexcept;
    bool is_pouring() const noexcept { return outflow_.is_pouring(); }
    /// Whether one answer is all that is expected of it, soon enough for await().
    bool may_await() const;
    /// Requests wait for it, and it cannot be reached, or says nothing.
    bool is_in_trouble(Moment now) const;
    /// When it would be, if nothing is heard of it; never: Moment::max().
    Moment in_trouble_at() const;

    /// What is due: connects, and gives up what is overdue.
    void serve(Moment now, Listening& listening, Due& due);
    /// The connection for requests is of no use any more.
    void lost(Moment now, Due& due);
    /// The same, and whoever waits for another one is told why, should its time be up.
    void refused(const Failure& why, Moment now, Due& due);
    /// What was submitted and not answered, as far as it may be sent again; both links are closed.
    std::vector<std::unique_ptr<Request>> dissolve(Due& due);

    // Pushes. What is heard, and that it is not, goes to `listening`.

    enum class Hearing : std::uint8_t {
        goes_on,
        lost,  ///< just now
    };
    Hearing serve_pushes(Moment now, Listening& listening, Due& due);
    /// The second connection is not even sought.
    bool is_deaf() const noexcept { return pushes_link_.state() == Link::State::down; }
    void close_pushes();

    // Of a turn.

    static constexpr std::size_t polled = 3;
    void poll_for(std::vector<pollfd>& descriptors) const;
    /// What has come in on the descriptors that poll_for() named.
    void read(std::span<const pollfd> descriptors);
    /// Blocks until an answer has come in.
    void await();
    void take_answers(Due& due, std::vector<TurnedAway>& away);
    Hearing take_pushes(Listening& listening, Due& due);
    /// When the next thing is due by itself; never: Moment::max().
    Moment earliest(const Listening& listening) const;

private:
    /// What the next answer is of.
    struct Expected {
        std::size_t requests = 0;
        /// What they are asked for by; of no request: whose library the server was given.
        const Script* script = nullptr;
        Way way = {};
    };
    /// What one of the links has brought.
    struct Arrival {
        std::vector<Reply> replies = {};
        std::optional<Failure> failure = std::nullopt;
    };
    static void receive(Link& link, short events, Arrival& arrival);

    void connect(Moment now, Listening& listening, Due& due);
    void connected(Listening& listening, Due& due);
    void open(Moment now);
    void close();
    std::optional<Failure> advance(Moment now);
    std::optional<Failure> advance_confirmer(Moment now);
    std::optional<Failure> objection_to(const Link& link) const;
    std::optional<Failure> objection_to_pair() const;
    std::optional<Failure> objection_to_run() const;
    void forget_flight();
    bool may_encode() const;
    void encode_outbox(std::string& bytes);
    void expect(Expected answer);
    void encode_libraries(std::string& bytes);
    std::size_t encode_group(std::size_t first, std::string& bytes);
    std::size_t size_of_group(std::size_t first) const;
    void take_answer(const Expected& expected, Reply reply, Due& due,
                     std::vector<TurnedAway>& away);
    bool ask_otherwise(const Expected& expected, std::string_view error);
    void refused_together(const std::string& error, std::size_t requests,
                          std::vector<TurnedAway>& away);
    void settle(std::unique_ptr<Request> request, Reply reply, Due& due,
                std::vector<TurnedAway>& away);
    void answered(std::unique_ptr<Request> request, Reply reply, Due& due);
    void take_confirmations(Due& due);
    void pushes_ready(Listening& listening, Due& due);
    Hearing pushes_lost(Moment now, Listening& listening, Due& due);
    void track();

    const Address address_;
    const Pushes pushes_;
    const Part part_;

    Link requests_;
    std::string run_ = {};  ///< of an independent one, when it was connected last
    net::Conversation<Request> conversation_;
    net::Outflow outflow_;
    std::deque<std::size_t> batch_sizes_;  ///< in answers, of what is in flight, as it went out
    std::deque<Expected> expected_;        ///< for each answer that is to come
    Functions functions_;
    Moment apart_until_{};               ///< it refused some that were sent together
    std::vector<const Command*> group_;  ///< empty
    net::Backoff backoff_;
    Moment opened_{};         ///< when the connection for requests was last sought
    bool unreached_ = false;  ///< it was lost, or not made, since the last answer

    /// Where replicas must confirm: a third connection, opened and lost together with that for
    /// requests. Were one of the two made anew alone, another process of the server might confirm
    /// what it never had.
    const std::unique_ptr<Confirmer> confirmer_;

    Link pushes_link_;
    Probe probe_{address_.request_timeout};  ///< of pushes_link_

    // Of a turn: whoever leads has them to itself.
    Arrival answers_;
    Arrival messages_;
    Arrival confirmed_;
};

}  // namespace holdfast::inline v0::redis
