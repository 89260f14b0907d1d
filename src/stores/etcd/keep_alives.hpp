#pragma once

#include <deque>
#include <memory>
#include <optional>

#include <holdfast/callback.hpp>

#include "port/clock.hpp"
#include "port/failure.hpp"
#include "stores/etcd/etcd.pb.h"
#include "stores/etcd/stream.hpp"
#include "stores/net/backoff.hpp"

namespace holdfast::inline v0::etcd {

namespace messages = ::holdfast_etcd;

/// The stream on which leases are kept alive: one for all of a client's. Answers come in order.
/// Threads: everything with the wire's lock held.
class KeepAlives final
    : public Stream<messages::LeaseKeepAliveRequest, messages::LeaseKeepAliveResponse>::Listener {
public:
    using Request = messages::LeaseKeepAliveRequest;
    using Response = messages::LeaseKeepAliveResponse;
    using Session = Stream<Request, Response>;
    using Due = Arrival::Due;

    struct Kept {
        std::chrono::seconds ttl;  ///< 0: the lease is over
        Moment sent;
        std::uint64_t term = 0;  ///< of whoever says so
    };
    using Answered = Callback<void(Result<Kept>)>;

    void add(std::int64_t lease, Moment deadline, Answered answered);

    /// Whether a stream is needed, and there is none.
    bool wants_stream() const { return !stream_ && !asked_.empty(); }
    void use(std::shared_ptr<Session> stream);
    /// The stream is not to be trusted any more: what is unanswered is asked again on the next one.
    void drop_stream();
    std::optional<std::uint64_t> route() const;
    /// No stream is opened before: the last one was refused.
    Moment next() const noexcept { return refusals_.next(); }
    void refused(Moment now) { refusals_.failed(now); }

    /// Since when an answer is awaited.
    std::optional<Moment> waiting_since() const;
    std::optional<Moment> earliest_deadline() const;
    void expire(Moment now, const Failure& failure, Due& due);

    void received(const Response& message, Due& due) override;
    void broke(const grpc::Status& status, Due& due) override;
    /// Whether the stream has broken since this was last asked, and by what.
    std::optional<Break> take_break();

private:
    struct Asked {
        std::int64_t lease;
        Moment deadline;
        Answered answered;  ///< empty: its time was up, and its answer is still to come
        Moment sent{};
    };
    void send(Asked& one);

    std::shared_ptr<Session> stream_;
    std::deque<Asked> asked_;  ///< in the order in which they were sent, or are to be
    std::optional<Break> break_;
    net::Backoff refusals_;
};

}  // namespace holdfast::inline v0::etcd
