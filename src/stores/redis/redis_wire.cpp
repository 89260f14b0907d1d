#include "stores/redis/redis_wire.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "stores/redis/failures.hpp"

namespace holdfast::inline v0::redis {

namespace {

Servers only(Address address) {
    Servers servers{.node = std::move(address)};
    servers.named.push_back(servers.node);
    return servers;
}

}  // namespace

RedisWire::RedisWire(Servers servers, Pushes pushes)
    : request_timeout_(servers.node.request_timeout),
      bell_(interrupt_descriptor()),
      lobby_(servers.shown(), request_timeout_),
      routes_(routes_for(
          {std::move(servers), std::move(pushes), [bell = bell_] { bell.ring(); }, lobby_})) {}

RedisWire::RedisWire(Address address, Pushes pushes)
    : RedisWire(only(std::move(address)), std::move(pushes)) {}

RedisWire::~RedisWire() {
    close();
}

void RedisWire::submit(Command command, Answered answered) {
    const auto patience = std::min(request_timeout_, command.patience().value_or(request_timeout_));
    auto request = std::make_unique<Request>(std::move(command), std::move(answered),
                                             BootClock::now() + patience);
    Lock lock(mutex_);
    request->number = ++submitted_;
    routes_->address(*request);
    Node* const node = routes_->node_for(*request);
    if (node != nullptr && !is_behind_another(*request)) {
        return send(*node, std::move(request), lock);
    }
    lobby_.send_again(std::move(request));
    bell_.ring();
}

/// Whether one for the same keys waits that was submitted earlier: nobody passes it.
bool RedisWire::is_behind_another(const Request& request) const {
    return std::ranges::any_of(lobby_.waiting(), [&](const auto& earlier) {
        return earlier->hash_slot == request.hash_slot && earlier->goes_by_its_keys();
    });
}

void RedisWire::send(Node& node, std::unique_ptr<Request>&& request, Lock& lock) {
    // Whoever leads may be asleep over a connection that nobody needed, or is to notice when this
    // one is not answered.
    const bool is_news = !node.is_connected() || (!routes_->is_fixed() && node.is_idle());
    node.submit(std::move(request));
    if (node.may_send()) node.flush(lock);
    if (is_news || node.needs_leader()) bell_.ring();
}

void RedisWire::listen(const std::weak_ptr<Listener>& listener) {
    const std::lock_guard guard(mutex_);
    if (listening_.want(listener)) bell_.ring();
}

void RedisWire::turn(std::optional<Moment> until, Due& due) {
    {
        Lock lock(mutex_);
        serve(BootClock::now(), due);
        // It may be connected by this, or held back no more, and then nothing comes in that would
        // end the poll().
        flush_all(lock);
        if (!due.empty()) return;
        if (may_await(until)) return await_answer(lock, due);
        until = earliest(until);
        poll_for(polled_);
    }
    if (poll(polled_.data(), polled_.size(), poll_timeout(until)) <= 0) return;
    if (polled_[0].revents != 0) take_interrupt();
    // Without the lock, which those who send need: a link is opened and closed by whoever leads
    // alone.
    read(polled_);
    Lock lock(mutex_);
    take(due);
    flush_all(lock);
}

/// Whether one answer is all that whoever leads waits for. What else would end a poll() can wait
/// for that answer then, or for its time to be up: nobody listens, other requests are sent by those
/// who make them, and no other node can come in place of this one.
bool RedisWire::may_await(std::optional<Moment> until) const {
    return !until && routes_->is_fixed() && !listening_.wanted() && led_by_caller() &&
           lobby_.waiting().empty() && routes_->nodes().front()->may_await();
}

void RedisWire::await_answer(Lock& lock, Due& due) {
    Node& node = *routes_->nodes().front();
    lock.unlock();
    node.await();
    lock.lock();
    take(due);
    flush_all(lock);
}

void RedisWire::serve(Moment now, Due& due) {
    recall();
    routes_->go_on(now, listening_.wanted(), due);
    // What an earlier turn has read, and has not taken, or another one was to decide about.
    take_answers(now, due);
    take_pushes(due);
    send_on(now);
    for (const auto& node : routes_->nodes()) node->serve(now, listening_, due);
    if (listening_.wanted()) serve_pushes(now, due);
    net::make_room(due, lobby_.waiting().size());
    net::finish(lobby_.expire(now), due);
}

void RedisWire::serve_pushes(Moment now, Due& due) {
    Node* const heard = routes_->heard();
    // What the one before it would push is not heard any more.
    if (std::exchange(heard_, heard) != heard && listening() != 0) listening_.lost(now, due);
    if (heard == nullptr) return;
    if (heard->serve_pushes(now, listening_, due) == Node::Hearing::lost) {
        routes_->not_heard(*heard);
    }
}

/// From the lobby, as far as nodes are known by now. Behind one that stays, all others for the same
/// keys do.
void RedisWire::send_on(Moment now) {
    std::set<std::uint16_t> that_stay;
    for (std::size_t i = 0; i < lobby_.waiting().size();) {
        const auto place = lobby_.waiting().begin() + static_cast<std::ptrdiff_t>(i);
        Request& request = **place;
        const bool is_time = now >= request.not_before && !that_stay.contains(request.hash_slot);
        if (Node* const node = is_time ? routes_->node_for(request) : nullptr) {
            lobby_.give_away(
                place, [&](std::unique_ptr<Request>&& given) { node->submit(std::move(given)); });
        } else {
            if (request.goes_by_its_keys()) that_stay.insert(request.hash_slot);
            ++i;
        }
    }
}

void RedisWire::flush_all(Lock& lock) {
    for (const auto& node : routes_->nodes()) node->flush(lock);
}

void RedisWire::poll_for(std::vector<pollfd>& descriptors) const {
    descriptors.clear();
    descriptors.push_back({.fd = interrupt_descriptor(), .events = POLLIN, .revents = 0});
    for (const auto& node : routes_->nodes()) node->poll_for(descriptors);
    for (const auto& informant : routes_->informants()) informant->poll_for(descriptors);
}

void RedisWire::read(std::span<const pollfd> descriptors) {
    std::size_t at = 1;
    for (const auto& node : routes_->nodes()) {
        node->read(descriptors.subspan(at, Node::polled));
        at += Node::polled;
    }
    for (const auto& informant : routes_->informants()) {
        informant->read(descriptors.subspan(at, Informant::polled));
        at += Informant::polled;
    }
}

void RedisWire::take(Due& due) {
    const Moment now = BootClock::now();
    // First what is heard of the nodes: nothing that one says counts when another is in its place.
    routes_->go_on(now, listening_.wanted(), due);
    take_answers(now, due);
    take_pushes(due);
    send_on(now);
}

void RedisWire::take_pushes(Due& due) {
    for (const auto& node : routes_->nodes()) {
        if (node->take_pushes(listening_, due) == Node::Hearing::lost) routes_->not_heard(*node);
    }
}

/// Unless one of them may be deposed: then what it says waits for what is found out about that.
void RedisWire::take_answers(Moment now, Due& due) {
    if (!routes_->is_sure()) return;
    for (const auto& node : routes_->nodes()) {
        if (node->has_untaken()) node->take_answers(due, away_);
    }
    for (auto& [node, request, error] : away_) turned_away(*node, request, error, now, due);
    away_.clear();
}

/// What a turn that ended by an exception has left turned away: whoever serves it says so again.
void RedisWire::recall() {
    for (auto& one : away_) {
        if (one.request) lobby_.send_again(std::move(one.request));
    }
    away_.clear();
}

void RedisWire::turned_away(Node& node, std::unique_ptr<Request>& request, const std::string& error,
                            Moment now, Due& due) {
    request->trouble = failure_of(error, node.address());
    if (auto failure = routes_->turned_away(node, *request, error, now, due)) {
        failure = request->refused(*std::move(failure));
        return net::finish(std::move(request), *std::move(failure), due);
    }
    lobby_.send_again(std::move(request));
}

/// When the next thing is due by itself.
std::optional<Moment> RedisWire::earliest(std::optional<Moment> until) const {
    Moment first = std::min(until.value_or(Moment::max()), lobby_.earliest());
    for (const auto& request : lobby_.waiting()) {
        if (request->not_before > BootClock::now()) first = std::min(first, request->not_before);
    }
    first = std::min(first, routes_->earliest(listening_.wanted()));
    for (const auto& node : routes_->nodes()) first = std::min(first, node->earliest(listening_));
    if (listening_.wanted() && heard_ != nullptr && heard_->is_deaf()) {
        first = std::min(first, listening_.next_attempt());
    }
    if (first == Moment::max()) return std::nullopt;
    return first;
}

}  // namespace holdfast::inline v0::redis
