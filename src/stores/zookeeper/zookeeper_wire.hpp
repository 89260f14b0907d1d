#pragma once

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
#include "port/wire.hpp"
#include "stores/net/backoff.hpp"
#include "stores/net/bell.hpp"
#include "stores/zookeeper/ensemble.hpp"
#include "stores/zookeeper/link.hpp"
#include "stores/zookeeper/operations.hpp"
#include "stores/zookeeper/session.hpp"

namespace holdfast::inline v0::zookeeper {

/// The session of one client, on a connection to one server after the other. Requests of all
/// threads share the connection: whoever waits reads for everybody.
///
/// A lost connection is not a lost session: the next server is asked to go on with it, and told
/// what is watched. When the session is over, everybody is told, and later requests get a new one.
class ZookeeperWire final : public Wire {
public:
    /// What comes without being asked for, as callbacks of a turn.
    class Listener {
    public:
        virtual ~Listener() = default;
        /// All nodes that were made in it are gone, or about to go.
        virtual void session_over(std::int64_t session) = 0;
        /// A watched node has changed, or ended, or was not there; it is watched no more.
        virtual void stirred(const std::string& path, Event::What what) = 0;
    };

    explicit ZookeeperWire(Ensemble ensemble);
    ~ZookeeperWire() override;
    void listen(const std::weak_ptr<Listener>& listener);

    /// What happens to requests when the connection breaks before they are answered.
    enum class WhenLost : std::uint8_t { repeat, tell };
    /// When a request is given up.
    enum class Endurance : std::uint8_t {
        until_timeout,  ///< over lost connections and failed attempts to connect
        first_attempt,  ///< or when no server could be reached
    };
    /// Requests that go out together, and are served in order.
    struct Volley {
        std::vector<Operation> operations;
        WhenLost when_lost = WhenLost::repeat;
        /// Unset: after request_timeout.
        std::optional<Moment> deadline = std::nullopt;
        Endurance endurance = Endurance::until_timeout;
    };
    struct Answer {
        /// One reply for each operation, or why there are none.
        Result<std::vector<Reply>> result;
        /// A connection broke while it was under way: the server may have done it, may have done
        /// it twice, or may yet.
        bool repeated = false;
        Moment sent{};  ///< the copy that was answered
        std::int64_t session = 0;
    };
    using Answered = Callback<void(Answer)>;
    /// Sends it, soon; `answered` is called once, as one of the callbacks of a turn.
    void submit(Volley volley, Answered answered);

    /// Tells, once, when the node changes or ends, and at once when it is not there. One that is
    /// watched already is not asked about again. What was written since that transaction has
    /// changed; 0: that does not matter.
    void watch(const std::string& path, std::int64_t since = 0);

    /// As negotiated with the servers.
    std::chrono::milliseconds session_timeout() const noexcept { return session_.timeout(); }
    /// 0: there is none now.
    std::int64_t session() const noexcept { return session_.id(); }
    /// See Standing::counted_from.
    Moment counted_from(Moment sent, std::chrono::nanoseconds lease) const;
    const Ensemble& ensemble() const noexcept { return ensemble_; }

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
    using Lock = std::unique_lock<std::mutex>;
    struct Arrival {
        std::vector<std::string> records = {};
        std::optional<Failure> failure = std::nullopt;
    };

    void turn(std::optional<Moment> until, Due& due) override;
    std::optional<Moment> earliest(std::optional<Moment> until) const;
    void serve(Moment now, Due& due);
    void connect(Moment now, Due& due);
    void attached(Due& due);
    bool is_beyond_its_time(Moment now) const;
    void end_session(Due& due);
    void attempt_failed(const Failure& failure, Moment now, Due& due);
    void keep_alive(Moment now);
    void give_up_silent(Moment now, Due& due);
    void expire(Moment now, Due& due);
    void lost(Due& due);
    Arrival read();
    void take(const Arrival& arrival, Due& due);
    void take_record(const std::string& record, Due& due);
    void take_reply(Incoming arrived, Due& due);
    void stir(Event event, Due& due);
    void flush(Lock& lock);
    bool may_send() const;
    bool is_needed() const;
    bool has_been_idle(Moment now) const;
    bool unwatch(const std::string& path);
    void say_goodbye() noexcept;
    static void finish(Request request, Result<std::vector<Reply>> result, std::int64_t session,
                       Due& due);

    const Ensemble ensemble_;
    const net::Bell bell_;

    mutable std::mutex mutex_;
    std::weak_ptr<Listener> listener_;
    Session session_{ensemble_};
    Link link_;
    net::Backoff backoff_;
    std::size_t server_;             ///< whose turn it is
    std::size_t failed_in_row_ = 0;  ///< attempts
    bool start_over_ = false;        ///< the connection has been idle for too long

    std::deque<Request> outbox_;  ///< not yet handed to the connection
    std::deque<Request> in_flight_;
    std::string unsent_;  ///< of those in flight, what the socket did not take yet
    bool flushing_ = false;
    std::int32_t next_number_ = 1;
    Moment last_heard_{};
    Moment waiting_since_{};  ///< for the next answer
    Moment last_kept_alive_{};
};

}  // namespace holdfast::inline v0::zookeeper
