#include "stores/etcd/keep_alives.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::inline v0::etcd {

void KeepAlives::add(std::int64_t lease, Moment deadline, Answered answered) {
    asked_.push_back({.lease = lease, .deadline = deadline, .answered = std::move(answered)});
    if (stream_) send(asked_.back());
}

void KeepAlives::send(Asked& one) {
    Request request;
    request.set_id(one.lease);
    one.sent = BootClock::now();
    stream_->send(std::move(request));
}

void KeepAlives::use(std::shared_ptr<Session> stream) {
    stream_ = std::move(stream);
    for (Asked& one : asked_) send(one);
}

void KeepAlives::drop_stream() {
    if (stream_) stream_->give_up();
    stream_.reset();
    std::erase_if(asked_, [](const Asked& one) { return !one.answered; });
}

std::optional<std::uint64_t> KeepAlives::route() const {
    if (!stream_) return std::nullopt;
    return stream_->route();
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
    if (!stream_) std::erase_if(asked_, [](const Asked& one) { return !one.answered; });
}

void KeepAlives::received(const Response& message, Due& due) {
    if (asked_.empty() || asked_.front().lease != message.id()) {
        // Not an answer to what was asked: nothing that this stream says can be relied on.
        break_ = {{grpc::StatusCode::INTERNAL, "an answer about another lease"}, stream_->route()};
        return drop_stream();
    }
    refusals_.succeeded();
    Asked one = std::move(asked_.front());
    asked_.pop_front();
    if (!one.answered) return;
    const Kept kept{.ttl = std::chrono::seconds{std::max<std::int64_t>(message.ttl(), 0)},
                    .sent = one.sent,
                    .term = message.header().raft_term()};
    due.push_back([answered = std::move(one.answered), kept] { answered(kept); });
}

void KeepAlives::broke(const grpc::Status& status, Due&) {
    break_ = {status, stream_->route()};
    drop_stream();
}

std::optional<Break> KeepAlives::take_break() {
    return std::exchange(break_, std::nullopt);
}

}  // namespace holdfast::inline v0::etcd
