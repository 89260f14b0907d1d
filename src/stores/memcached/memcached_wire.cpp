#include "stores/memcached/memcached_wire.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::inline v0::memcached {

MemcachedWire::MemcachedWire(const Servers& servers)
    : user_(servers.user),
      request_timeout_(servers.request_timeout),
      continuum_(servers.servers),
      bell_(interrupt_descriptor()) {
    for (const net::Address& address : servers.servers) {
        servers_.push_back(
            std::make_unique<Server>(address, user_, [bell = bell_] { bell.ring(); }));
    }
}

MemcachedWire::~MemcachedWire() {
    close();
}

void MemcachedWire::submit(const std::string& key, Command command, Answered answered,
                           Terms terms) {
    send(*servers_[continuum_.server_of(key)],
         std::make_unique<Request>(std::move(command), terms.only_on, std::move(answered),
                                   terms.until));
}

void MemcachedWire::submit_at(Moment moment, const std::string& key, Command command,
                              Answered answered) {
    auto later = std::make_unique<Request>(std::move(command), 0, std::move(answered),
                                           moment + request_timeout_);
    const std::lock_guard guard(mutex_);
    postponed_.emplace(moment, Postponed{continuum_.server_of(key), std::move(later)});
    bell_.ring();
}

void MemcachedWire::greet(const std::function<void(const Answer&)>& answered) {
    for (const auto& server : servers_) {
        send(*server, std::make_unique<Request>(Command::nothing(), 0, answered, until()));
    }
}

void MemcachedWire::send(Server& server, std::unique_ptr<Request>&& request) {
    Lock lock(mutex_);
    server.submit(std::move(request));
    server.flush(lock);
    if (server.needs_leader()) bell_.ring();
}

void MemcachedWire::turn(std::optional<Moment> until, Due& due) {
    {
        Lock lock(mutex_);
        const Moment now = BootClock::now();
        send_postponed(now);
        for (const auto& server : servers_) server->serve(now, due);
        // One may be connected by this, and then nothing comes in that would end the poll().
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
    for (std::size_t i = 0; i < servers_.size(); ++i) servers_[i]->read(polled_[i + 1].revents);
    Lock lock(mutex_);
    for (const auto& server : servers_) server->take(due);
    flush_all(lock);
}

void MemcachedWire::send_postponed(Moment now) {
    while (!postponed_.empty() && postponed_.begin()->first <= now) {
        auto& [server, request] = postponed_.begin()->second;
        servers_[server]->submit(std::move(request));
        postponed_.erase(postponed_.begin());
    }
}

/// Whether one answer is all that whoever leads waits for. What else would end a poll() can wait
/// for that answer then, or for its time to be up: other requests are sent by those who make them,
/// and there is no other server to answer them sooner.
bool MemcachedWire::may_await(std::optional<Moment> until) const {
    return !until && servers_.size() == 1 && led_by_caller() && postponed_.empty() &&
           servers_.front()->may_await();
}

void MemcachedWire::await_answer(Lock& lock, Due& due) {
    Server& server = *servers_.front();
    lock.unlock();
    server.await();
    lock.lock();
    server.take(due);
    server.flush(lock);
}

void MemcachedWire::flush_all(Lock& lock) {
    for (const auto& server : servers_) server->flush(lock);
}

void MemcachedWire::poll_for(std::vector<pollfd>& descriptors) const {
    descriptors.clear();
    descriptors.push_back({.fd = interrupt_descriptor(), .events = POLLIN, .revents = 0});
    for (const auto& server : servers_) descriptors.push_back(server->awaited());
}

/// When the next thing is due by itself.
std::optional<Moment> MemcachedWire::earliest(std::optional<Moment> until) const {
    Moment first = until.value_or(Moment::max());
    if (!postponed_.empty()) first = std::min(first, postponed_.begin()->first);
    for (const auto& server : servers_) first = std::min(first, server->earliest());
    if (first == Moment::max()) return std::nullopt;
    return first;
}

}  // namespace holdfast::inline v0::memcached
