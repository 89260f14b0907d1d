#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stores/net/backoff.hpp"
#include "stores/net/outflow.hpp"
#include "stores/redis/address.hpp"
#include "stores/redis/confirmer.hpp"
#include "stores/redis/ear.hpp"
#include "stores/redis/exchange.hpp"
#include "stores/redis/link.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"

namespace holdfast::inline v0::redis {

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
/// An exception (out of memory, say) leaves a connection of which nobody knows what the next answer
/// is of. So it is closed at once, and all that was under way is sent again, as when it breaks.
/// Threads: all members under the lock of the wire, but for read() and await(), which whoever leads
/// calls without it; whoever leads alone opens and closes links.
class Node {
public:
    using Lock = std::unique_lock<std::mutex>;
    using Due = net::Due;
    using Part = redis::Part;
    struct TurnedAway {
        Node* node;
        std::unique_ptr<Request> request;
        std::string error;
    };

    Node(Address address, Pushes pushes, Part part, const std::function<void()>& resolved);

    const Address& address() const noexcept { return address_; }
    Host host() const { return {address_.host, address_.port}; }

    // Requests.

    void submit(std::unique_ptr<Request>&& request) { exchange_.send_again(std::move(request)); }
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
        return exchange_.is_idle() && (!confirmer_ || confirmer_->is_idle());
    }
    /// Whether one for the same keys, submitted earlier, is not answered yet.
    bool has_before(const Request& request) const;
    /// Its master should have so many replicas, by what others know of it.
    void knows_of_replicas(std::size_t count) noexcept;
    /// The most that were seen; nought where none must confirm.
    std::size_t known_replicas() const noexcept { return confirmer_ ? confirmer_->known() : 0; }
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
    /// The same, if it is connected; and nothing is sent to it before `until`, so that nobody
    /// passes those that it has turned away.
    void leave_alone(Moment until, const Failure& why, Moment now, Due& due);
    /// What was submitted and not answered waits there, as far as it may be sent again; all links
    /// are closed.
    void dissolve(Lobby& lobby, Due& due);

    // Pushes. What is heard, and that it is not, goes to `listening`.

    using Hearing = Ear::Hearing;
    Hearing serve_pushes(Moment now, Listening& listening, Due& due);
    /// The second connection is not even sought.
    bool is_deaf() const noexcept { return ear_.is_deaf(); }

    // Of a turn.

    static constexpr std::size_t polled = 3;
    void poll_for(std::vector<pollfd>& descriptors) const;
    /// What has come in on the descriptors that poll_for() named.
    void read(std::span<const pollfd> descriptors);
    /// Blocks until an answer has come in.
    void await();
    void take_answers(Due& due, std::vector<TurnedAway>& away);
    /// Whether something was read and not taken.
    bool has_untaken() const noexcept { return answers_.is_there() || confirmed_.is_there(); }
    Hearing take_pushes(Listening& listening, Due& due) { return ear_.take(listening, due); }
    /// When the next thing is due by itself; never: Moment::max().
    Moment earliest(const Listening& listening) const;

private:
    /// What one of the links has brought.
    struct Arrival {
        std::vector<Reply> replies = {};
        std::optional<Failure> failure = std::nullopt;

        bool is_there() const noexcept { return failure.has_value() || !replies.empty(); }
        void clear() noexcept {
            replies.clear();
            failure.reset();
        }
    };
    static void receive(Link& link, short events, Arrival& arrival);

    template <class Step>
    void whole(Step step);
    bool is_torn() const noexcept { return torn_ || outflow_.is_torn(); }
    void make_room(Due& due) const;
    void serve_requests(Moment now, Listening& listening, Due& due);
    void connect(Moment now, Listening& listening, Due& due);
    void connected(Listening& listening, Due& due);
    void open(Moment now);
    void close() noexcept;
    void send_again_what_was_answered();
    std::optional<Failure> advance(Moment now);
    std::optional<Failure> objection_to_pair() const;
    std::optional<Failure> objection_to_run() const;
    void settle_answers(Due& due, std::vector<TurnedAway>& away);
    void settle(Exchange::Answered& answered, Due& due, std::vector<TurnedAway>& away);
    void take_confirmations(Due& due);
    void track();

    const Address address_;
    const Pushes pushes_;
    const Part part_;

    Link requests_;
    std::string run_ = {};  ///< of an independent one, when it was connected last
    Exchange exchange_{address_};
    net::Outflow outflow_;
    net::Backoff backoff_;
    Moment opened_{};         ///< when the connection for requests was last sought
    bool unreached_ = false;  ///< it was lost, or not made, since the last answer
    bool torn_ = false;       ///< by an exception; closed since, but lost() is not done

    /// Where replicas must confirm: a third connection, opened and lost together with that for
    /// requests. Were one of the two made anew alone, another process of the server might confirm
    /// what it never had.
    const std::unique_ptr<Confirmer> confirmer_;

    Ear ear_;

    // Of a turn: whoever leads has them to itself. What was read and not taken yet stays here.
    Arrival answers_;
    Arrival confirmed_;
    std::vector<Exchange::Answered> answered_;  ///< empty
};

}  // namespace holdfast::inline v0::redis
