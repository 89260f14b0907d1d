#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/callback.hpp>

#include "port/failure.hpp"
#include "stores/listed/first_exception.hpp"
#include "stores/net/backoff.hpp"
#include "stores/net/bell.hpp"
#include "stores/net/conversation.hpp"
#include "stores/net/outflow.hpp"
#include "stores/zookeeper/ensemble.hpp"
#include "stores/zookeeper/link.hpp"
#include "stores/zookeeper/operations.hpp"
#include "stores/zookeeper/session.hpp"

namespace holdfast::inline v0::zookeeper {

using net::WhenLost;

/// Requests that go out together, and are served in order.
struct Volley {
    std::vector<Operation> operations;
    WhenLost when_lost = WhenLost::repeat;
    /// Unset: after request_timeout.
    std::optional<Moment> deadline = std::nullopt;
    /// Nothing of it is sent in a session that is shorter.
    std::chrono::milliseconds lease{0};
    /// A node that is watched no more when it is sent, if it was.
    std::string forgets = {};
    /// Its answer tells of nodes that are watched: it is told in order with what becomes of them.
    bool watches = false;
};

/// One reply for each operation, or why there are none.
struct Answer : net::Answer<std::vector<Reply>> {
    std::int64_t session = 0;
};
using Answered = Callback<void(Answer)>;

/// Hears what comes without being asked for, as callbacks of a turn.
class Listener {
public:
    virtual ~Listener() = default;
    /// All nodes that were made in it are gone, or about to go.
    virtual void session_over(std::int64_t session) = 0;
    /// It was taken up by a server that grants only so much: it may end before leases that are
    /// longer.
    virtual void session_shortened(std::int64_t session, std::chrono::milliseconds granted) = 0;
    /// A node that was watched in this session has changed, or ended, or was not there; it is
    /// watched no more. What is told to have ended did so before all that is told later.
    virtual void stirred(std::int64_t session, const std::string& path, Event::What what) = 0;
    /// A node is watched in this session from now on: what becomes of it is told before what
    /// happens later, as far as this session tells it.
    virtual void watched(std::int64_t session, const std::string& path) = 0;
    /// What becomes of this node may never be told: it is another user's to read.
    virtual void unheard(std::int64_t session, const std::string& path) = 0;
};

/// Tells what was read in the order in which it was read. The callbacks of one turn of the wire may
/// run after those of the next, on another thread: an own node's end must not be told after the end
/// of the node before it, which would be an admission.
class InOrder {
public:
    /// Adds to `due` what tells this, and all that was read before it.
    void tell(Callback<void()>&& news, std::vector<Callback<void()>>& due) {
        net::make_room(due, 1);
        {
            const std::lock_guard guard(state_->mutex);
            state_->untold.emplace_back(std::move(news));
        }
        due.emplace_back([state = state_] { tell_all(*state); });
    }

private:
    struct State {
        std::mutex mutex;
        std::deque<Callback<void()>> untold;
        bool telling = false;  ///< somebody does, and tells the rest, too
    };

    /// All of it, also behind one that throws: those who came for the rest have gone, because
    /// somebody was telling.
    static void tell_all(State& state) {
        std::unique_lock lock(state.mutex);
        if (std::exchange(state.telling, true)) return;
        listed::FirstException first;
        while (!state.untold.empty()) {
            const auto news = std::move(state.untold.front());
            state.untold.pop_front();
            lock.unlock();
            first.of(news);
            lock.lock();
        }
        state.telling = false;
        lock.unlock();
        first.rethrow();
    }

    std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// One session of a client, attached to one server after the other by a connection that the
/// requests of all threads share.
///
/// A lost connection is not a lost session: the next server is asked to go on with it, and told
/// what is watched. When the session is over, everybody is told, and later requests get a new one.
/// One that nobody has used for its whole time is ended. A connection of which an exception (out of
/// memory, say) has left something half done is lost, too.
/// Threads: all members under the one lock that they are given, or that their caller holds, but
/// where something else is said.
class Attachment {
public:
    using Due = net::Due;
    using Lock = std::unique_lock<std::mutex>;

    /// The ensemble must outlive this. The bell wakes whoever leads.
    Attachment(const Ensemble& ensemble, Term term, net::Bell bell,
               std::weak_ptr<Listener> listener);

    /// Sends it, soon; `answered` is called once, as one of the callbacks of a turn. The lock is
    /// open while the kernel works.
    void submit(Lock& lock, Volley volley, Answered answered);

    KeptSession& session() noexcept { return session_; }
    /// id() and timeout() from any thread.
    const KeptSession& session() const noexcept { return session_; }
    bool is_connected() const noexcept { return link_.ready(); }

    /// Does what is due by itself, and sends what can be sent.
    void serve(Lock& lock, Due& due);
    /// When it is to be served again.
    std::optional<Moment> earliest(std::optional<Moment> until) const;
    pollfd awaited() const;

    struct Arrival {
        std::vector<std::string> records = {};
        std::optional<Failure> failure = std::nullopt;
    };
    /// Without the lock, by whoever leads: nobody else opens and closes the link.
    Arrival read();
    void take(const Arrival& arrival, Due& due);

    /// Says that the session is over, so that nothing of it stays until its time is up. Whether an
    /// answer is to be waited for, at awaited(), by has_ended().
    bool say_goodbye() noexcept;
    bool has_ended() noexcept;

private:
    struct Request : net::Question<Answer> {
        Request(Volley asked, Answered told, Moment until)
            : Question(until, std::move(told)), volley(std::move(asked)) {
            when_lost = volley.when_lost;
        }

        Volley volley;
        std::int32_t next_number = 0;  ///< of the reply that comes next
        std::vector<Reply> replies = {};
    };
    using Conversation = net::Conversation<Request>;

    template <class Step>
    void whole(Step step);
    bool is_torn() const noexcept { return torn_ || outflow_.is_torn(); }
    void make_room(Due& due) const;
    void serve_requests(Lock& lock, Due& due);
    void connect(Moment now, Due& due);
    void attached(Due& due);
    void refuse_longer_leases(Due& due);
    bool is_beyond_its_time(Moment now) const;
    void end_session(Due& due);
    void retire(Moment now, Due& due);
    void attempt_failed(const Failure& failure, Moment now, Due& due);
    bool is_mended_by_time(const Failure& failure, Moment now) const;
    void keep_alive(Moment now);
    void give_up_silent(Moment now, Due& due);
    void expire(Moment now, Due& due);
    void lost(Due& due);
    void take_records(const Arrival& arrival, Due& due);
    void take_record(const std::string& record, Due& due);
    void take_reply(Incoming arrived, Due& due);
    void stir(Event event, Due& due);
    void flush(Lock& lock);
    bool may_send() const;
    bool is_needed() const;
    bool has_been_idle(Moment now) const;
    void put(Operation operation, Moment deadline);
    void encode_outbox(Moment now, std::string& bytes);
    void finish(std::unique_ptr<Request>&& request, Request::Outcome result, Due& due);
    void finish(Conversation::GivenUps&& given_up, Due& due);

    const Ensemble& ensemble_;
    const net::Bell bell_;
    const std::weak_ptr<Listener> listener_;
    KeptSession session_;
    InOrder in_order_;
    Link link_;
    net::Backoff backoff_;
    std::size_t server_;             ///< whose turn it is
    std::size_t attempts_ = 0;       ///< to connect, of which the next one begins elsewhere
    std::size_t failed_in_row_ = 0;  ///< attempts
    std::size_t hopeless_in_row_ = 0;
    Moment hopeless_since_{};  ///< the first of them
    bool start_over_ = false;  ///< the connection has been idle for too long
    bool torn_ = false;        ///< by an exception; closed since, but lost() is not done
    /// Until so many records have come, what ended is told in any order.
    std::size_t watches_under_way_ = 0;

    Conversation conversation_;
    net::Outflow outflow_;
    std::int32_t next_number_ = 1;
    Moment last_used_{};
    Moment last_heard_{};
    Moment waiting_since_{};  ///< for the next answer
    Moment last_kept_alive_{};
};

}  // namespace holdfast::inline v0::zookeeper
