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
#include "stores/net/backoff.hpp"
#include "stores/net/bell.hpp"
#include "stores/zookeeper/ensemble.hpp"
#include "stores/zookeeper/in_order.hpp"
#include "stores/zookeeper/link.hpp"
#include "stores/zookeeper/operations.hpp"
#include "stores/zookeeper/session.hpp"

namespace holdfast::inline v0::zookeeper {

/// What happens to requests when the connection breaks before they are answered.
enum class WhenLost : std::uint8_t { repeat, tell };

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

struct Answer {
    /// One reply for each operation, or why there are none.
    Result<std::vector<Reply>> result;
    /// A connection broke while it was under way: the server may have done it, may have done it
    /// twice, or may yet.
    bool repeated = false;
    Moment sent{};  ///< the copy that was answered
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
    /// What becomes of this node may never be told: it is another user's to read.
    virtual void unheard(std::int64_t session, const std::string& path) = 0;
};

/// One session of a client, on a connection to one server after the other. Requests of all threads
/// share the connection.
///
/// A lost connection is not a lost session: the next server is asked to go on with it, and told
/// what is watched. When the session is over, everybody is told, and later requests get a new one.
/// One that nobody has used for its whole time is ended.
/// Threads: all members under the one lock that they are given, or that their caller holds, but
/// where something else is said.
class Conversation {
public:
    using Due = std::vector<Callback<void()>>;
    using Lock = std::unique_lock<std::mutex>;

    /// The ensemble must outlive this. The bell wakes whoever leads.
    Conversation(const Ensemble& ensemble, Term term, net::Bell bell,
                 std::weak_ptr<Listener> listener);

    /// Sends it, soon; `answered` is called once, as one of the callbacks of a turn. The lock is
    /// open while the kernel works.
    void submit(Lock& lock, Volley volley, Answered answered);

    Session& session() noexcept { return session_; }
    /// id() and timeout() from any thread.
    const Session& session() const noexcept { return session_; }
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
    struct Request {
        Volley volley;
        Answered answered;
        Moment deadline;
        Moment sent{};
        bool repeated = false;
        std::int32_t next_number = 0;  ///< of the reply that comes next
        std::vector<Reply> replies = {};
    };

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
    void take_record(const std::string& record, Due& due);
    void take_reply(Incoming arrived, Due& due);
    void stir(Event event, Due& due);
    void flush(Lock& lock);
    bool may_send() const;
    bool is_needed() const;
    bool has_been_idle(Moment now) const;
    void finish(Request request, Result<std::vector<Reply>> result, std::int64_t session, Due& due);

    const Ensemble& ensemble_;
    const net::Bell bell_;
    const std::weak_ptr<Listener> listener_;
    Session session_;
    InOrder in_order_;
    Link link_;
    net::Backoff backoff_;
    std::size_t server_;             ///< whose turn it is
    std::size_t attempts_ = 0;       ///< to connect, of which the next one begins elsewhere
    std::size_t failed_in_row_ = 0;  ///< attempts
    std::size_t hopeless_in_row_ = 0;
    Moment hopeless_since_{};   ///< the first of them
    std::string last_failure_;  ///< of them
    bool start_over_ = false;   ///< the connection has been idle for too long
    /// Until so many records have come, what ended is told in any order.
    std::size_t watches_under_way_ = 0;

    std::deque<Request> outbox_;  ///< not yet handed to the connection
    std::deque<Request> in_flight_;
    std::string unsent_;  ///< of those in flight, what the socket did not take yet
    bool flushing_ = false;
    std::int32_t next_number_ = 1;
    Moment last_used_{};
    Moment last_heard_{};
    Moment waiting_since_{};  ///< for the next answer
    Moment last_kept_alive_{};
};

}  // namespace holdfast::inline v0::zookeeper
