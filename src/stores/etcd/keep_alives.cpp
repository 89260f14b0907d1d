#include "stores/etcd/keep_alives.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::inline v0::etcd {

void KeepAlives::add(std::int64_t lease, Moment deadline, Answered answered) {
    asked_.push_back({.lease = lease, .deadline = deadline, .answered = std::move(answered)});
    if (stream_) send(asked_.back());
}

void KeepAlives::send(Asked& one) {
    messages::LeaseKeepAliveRequest request;
    request.set_id(one.lease);
    one.sent = BootClock::now();
    stream_->send(std::move(request));
}

std::optional<Moment> KeepAlives::waiting_since() const {
    if (!stream_ || asked_.empty()) return std::nullopt;
    return asked_.front().sent;
}

std::optional<Moment> KeepAlives::earliest_deadline() const {
    std::optional<Moment> earliest;
    for (const Asked& one : asked_) {
        if (one.answered && (!earliest || one.deadline < *earliest)) earliest = one.deadline;
    }
    return earliest;
}

void KeepAlives::expire(Moment now, const Failure& failure, Due& due) {
    for (Asked& one : asked_) {
        if (!one.answered || now < one.deadline) continue;
        due.push_back([answered = std::exchange(one.answered, {}), failure] { answered(failure); });
    }
    if (!stream_) dropped();
}

void KeepAlives::received(const messages::LeaseKeepAliveResponse& message, Due& due) {
    if (asked_.empty() || asked_.front().lease != message.id()) {
        // Not an answer to what was asked: nothing that this stream says can be relied on.
        return broke({grpc::StatusCode::INTERNAL, "an answer about another lease"});
    }
    was_served();
    Asked one = std::move(asked_.front());
    asked_.pop_front();
    if (!one.answered) return;
    const Kept kept{.ttl = std::chrono::seconds{std::max<std::int64_t>(message.ttl(), 0)},
                    .sent = one.sent,
                    .term = message.header().raft_term()};
    due.push_back([answered = std::move(one.answered), kept] { answered(kept); });
}

}  // namespace holdfast::inline v0::etcd
