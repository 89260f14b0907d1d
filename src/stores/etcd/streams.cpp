#include "stores/etcd/streams.hpp"
#include "port/told_time.hpp"

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
        tell(one, failure, due);
    }
    if (!stream_) dropped();
}

void KeepAlives::received(const messages::LeaseKeepAliveResponse& message, Due& due) {
    if (asked_.empty() || asked_.front().lease != message.id()) {
        // Not an answer to what was asked: nothing that this stream says can be relied on.
        return broke({grpc::StatusCode::INTERNAL, "an answer about another lease"});
    }
    was_served();
    Asked& one = asked_.front();
    const Kept kept{.ttl = told_as<std::chrono::seconds>(std::max<std::int64_t>(message.ttl(), 0)),
                    .sent = one.sent,
                    .term = message.header().raft_term()};
    if (one.answered) tell(one, kept, due);
    asked_.pop_front();
}

/// Where there is no memory for that, it is as if it was not answered.
void KeepAlives::tell(Asked& one, const Result<Kept>& result, Due& due) {
    net::make_room(due, 1);
    auto told = std::make_unique<Told>(Told{{}, result});
    told->answered = std::exchange(one.answered, {});
    due.push_back([told = std::move(told)] { told->answered(std::move(told->result)); });
}

void Watches::add(const std::string& key, Events events, std::int64_t since) {
    const auto [place, added] = keys_.try_emplace(key, Watched{.events = events, .since = since});
    Watched& watched = place->second;
    if (!added) {
        const Events wider = std::max(events, watched.events);
        if (wider == watched.events && since >= watched.since) return;
        // What is on its way, or came between, is found by looking again.
        forget(watched.id);
        watched = {.events = wider, .since = std::min(watched.since, since)};
    }
    if (stream_) create(key, watched);
}

void Watches::create(const std::string& key, Watched& watched) {
    watched.id = next_id_++;
    by_id_[watched.id] = key;
    unconfirmed_[watched.id] = BootClock::now();
    messages::WatchRequest request;
    auto& creation = *request.mutable_create_request();
    creation.set_key(key);
    creation.set_watch_id(watched.id);
    if (watched.events == Events::end) {
        creation.add_filters(messages::WatchCreateRequest::NOPUT);
    }
    stream_->send(std::move(request));
}

void Watches::remove(const std::string& key) {
    const auto found = keys_.find(key);
    if (found == keys_.end()) return;
    const std::int64_t id = found->second.id;
    keys_.erase(found);
    forget(id);
}

void Watches::forget(std::int64_t id) {
    by_id_.erase(id);
    if (!stream_) return;
    messages::WatchRequest request;
    request.mutable_cancel_request()->set_watch_id(id);
    stream_->send(std::move(request));
}

void Watches::ask_all() {
    for (auto& [key, watched] : keys_) create(key, watched);
}

void Watches::dropped() {
    by_id_.clear();
    unconfirmed_.clear();
}

std::optional<Moment> Watches::waiting_since() const {
    if (unconfirmed_.empty()) return std::nullopt;
    // They are confirmed in order.
    return unconfirmed_.begin()->second;
}

/// One that was not asked for by us. What is refused at once has the number of nobody: -1.
bool Watches::is_refusal(const messages::WatchResponse& message) const {
    return message.canceled() && (message.created() || by_id_.contains(message.watch_id()));
}

void Watches::received(const messages::WatchResponse& message, Due& due) {
    if (is_refusal(message)) {
        // The token is over, say. With another one, on another stream, it may be watched.
        return broke({grpc::StatusCode::UNAUTHENTICATED, message.cancel_reason()});
    }
    const std::int64_t id = message.watch_id();
    unconfirmed_.erase(id);
    const auto found = by_id_.find(id);
    // What is not watched any more still has its last words.
    if (found == by_id_.end()) return;
    was_served();
    const std::string key = found->second;
    if (message.created()) created(key, message.header().revision(), due);
    if (message.events().empty()) return;
    const bool ended = std::ranges::any_of(message.events(), [](const auto& event) {
        return event.type() == messages::Event::DELETE;
    });
    const auto what = ended ? listed::NodeEvent::ended : listed::NodeEvent::changed;
    // Only then: should that fail, the next stream tells it once more.
    due.push_back([weak = listener_, key, what] {
        if (const auto listener = weak.lock()) listener->stirred(key, what);
    });
    remove(key);
}

void Watches::created(const std::string& key, std::int64_t revision, Due& due) {
    const std::int64_t since = keys_.at(key).since;
    if (revision <= since) return;
    due.push_back([weak = listener_, key, since] {
        if (const auto listener = weak.lock()) listener->look_again(key, since);
    });
}

}  // namespace holdfast::inline v0::etcd
