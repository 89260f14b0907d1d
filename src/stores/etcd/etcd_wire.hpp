#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "port/sentences.hpp"
#include "port/wire.hpp"
#include "stores/etcd/call.hpp"
#include "stores/etcd/members.hpp"
#include "stores/etcd/streams.hpp"

namespace holdfast::inline v0::etcd {

/// The requests of one client, and its two streams, to one member after the other. All that comes
/// back comes through one completion queue, which whoever waits empties for everybody: a lone
/// caller pays for no change of thread.
class EtcdWire final : public Wire, public UnaryCall::Owner {
public:
    explicit EtcdWire(Cluster cluster);
    ~EtcdWire() override;
    void listen(const std::weak_ptr<Watches::Listener>& listener);

    template <class Request>
    using AnswerTo = Answer<typename Method<Request>::Response>;
    /// Asks, of another member when one does not answer, until it is answered or its time is up. So
    /// it may be done twice: a request that must not be says so by what it compares. `answered` is
    /// called once, as one of the callbacks of a turn. Without a deadline it has request_timeout.
    template <class Request>
    void submit(Request request, Callback<void(AnswerTo<Request>)> answered,
                std::optional<Moment> deadline = std::nullopt) {
        start(std::make_shared<UnaryCallOf<Request>>(*this, deadline.value_or(default_deadline()),
                                                     std::move(request), std::move(answered)));
    }

    /// As submit(), on the stream of keep-alives. They are answered in order.
    void keep_alive(std::int64_t lease, KeepAlives::Answered answered);

    /// Tells the listener once when the key ends, or with puts when it is written. See Watches.
    void watch(const std::string& key, Watches::Events events, std::int64_t since);
    void unwatch(const std::string& key);

    const Cluster& cluster() const noexcept { return cluster_; }

private:
    using Lock = std::unique_lock<std::mutex>;

    /// Brought back when a turn is to end.
    struct Interrupt final : Arrival {
        explicit Interrupt(std::atomic<bool>& flag) : pending(flag) {}
        void arrived(bool, Due&) override { pending.store(false); }
        std::atomic<bool>& pending;
    };

    void turn(std::optional<Moment> until, Due& due) override;
    void interrupt() noexcept override;
    Moment default_deadline() const { return BootClock::now() + cluster_.request_timeout; }
    /// With a member that does not answer: another one, or another connection, has its chance in
    /// the time of a request.
    std::chrono::milliseconds patience() const {
        return std::min(cluster_.connect_timeout, cluster_.request_timeout / 2);
    }
    bool is_silent(const UnaryCall& call, Moment now) const {
        return now >= call.sent + patience();
    }
    std::optional<Moment> earliest(std::optional<Moment> until) const;
    bool oversleeps(Moment moment);
    void serve(Moment now, Due& due);
    void expire(Moment now, Due& due);
    void renew_streams(Moment now);

    void start(const std::shared_ptr<UnaryCall>& call);
    void send(const std::shared_ptr<UnaryCall>& call, Moment now);
    void attempted(const std::shared_ptr<UnaryCall>& call, Due& due) override;
    void judge(const std::shared_ptr<UnaryCall>& call, Due& due);
    void send_later(const std::shared_ptr<UnaryCall>& call);
    void give_up_torn(Due& due);
    void unserved(const std::shared_ptr<UnaryCall>& call, Moment now, Due& due);
    void give_up(const std::shared_ptr<UnaryCall>& call, Due& due);
    void finish(const std::shared_ptr<UnaryCall>& call, std::optional<Failure> failure, Due& due);
    Failure out_of_time() const { return timed_out(cluster_.shown(), cluster_.request_timeout); }

    class Taken;
    template <class Concerned>
    Taken take_from_outbox(Concerned concerned);
    void send_outbox(Moment now);
    bool may_send() const { return cluster_.user.name.empty() || known_; }
    bool may_send(const UnaryCall& call) const { return may_send() || call.proves_user; }
    class UserProof;
    void authenticate(Moment now);
    void authenticated(const AnswerTo<messages::AuthenticateRequest>& answer, Due& due);
    static void require_leader(grpc::ClientContext& context);
    void identify(grpc::ClientContext& context) const;

    const Cluster cluster_;
    mutable std::mutex mutex_;
    Members members_;
    std::atomic<bool> interrupting_{false};
    Interrupt interrupt_{interrupting_};
    grpc::CompletionQueue queue_;
    grpc::Alarm alarm_;

    std::set<std::shared_ptr<UnaryCall>> under_way_;
    std::list<std::shared_ptr<UnaryCall>> outbox_;  ///< to be sent when that is possible
    /// Done with. What freeing them costs is paid while the next one is under way.
    std::vector<std::shared_ptr<UnaryCall>> spent_;
    bool closed_ = false;

    std::string token_;
    bool known_ = false;  ///< the user was proved, or there is no authority
    bool authenticating_ = false;

    std::optional<Moment> asleep_until_;  ///< whoever leads; nothing: nobody sleeps
    std::optional<Moment> wake_by_;       ///< because of what was sent while it slept

    KeepAlives keep_alives_;
    Watches watches_;
};

}  // namespace holdfast::inline v0::etcd
