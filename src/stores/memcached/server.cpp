#include "stores/memcached/server.hpp"

#include <algorithm>
#include <utility>

#include "stores/memcached/failures.hpp"

namespace holdfast::inline v0::memcached {

Server::Server(net::Address address, const net::User& user, const std::function<void()>& resolved)
    : address_(std::move(address)),
      user_(user),
      link_(address_, user_, resolved),
      conversation_(address_.shown(), address_.request_timeout) {}

void Server::submit(std::unique_ptr<Request>&& request) {
    if (is_for_another(*request)) return parted_.push_back(std::move(request));
    conversation_.submit(std::move(request));
}

bool Server::is_for_another(const Request& request) const {
    return request.only_on != 0 && request.only_on != connection_;
}

void Server::flush(Lock& lock) {
    const bool may_pour = link_.ready() && !outflow_.is_pouring();
    if (!may_pour || (conversation_.waiting().empty() && outflow_.empty())) return;
    outflow_.pour(lock, link_, [this](std::string& bytes) { encode(bytes); });
}

void Server::encode(std::string& bytes) {
    if (conversation_.waiting().empty()) return;
    for (const auto& request : conversation_.waiting()) {
        request->command.append_to(bytes, request->number);
    }
    conversation_.all_sent(BootClock::now());
}

bool Server::needs_leader() const {
    return !parted_.empty() || (!conversation_.is_idle() && !link_.ready()) ||
           outflow_.wants_room() || is_torn();
}

bool Server::may_await() const {
    const auto& in_flight = conversation_.in_flight();
    const bool is_alone = in_flight.size() == 1 && conversation_.waiting().empty() &&
                          outflow_.empty() && parted_.empty();
    if (!is_alone || is_torn()) return false;
    const auto longest = link_.socket()->patience();
    const auto left = in_flight.front()->deadline - BootClock::now();
    return longest && left > *longest - *longest / 8;
}

/// One that ends by an exception leaves the connection closed, and to be lost().
template <class Step>
void Server::whole(Step step) {
    try {
        step();
    } catch (...) {
        torn_ = true;
        link_.close();
        throw;
    }
}

/// For all that may be told of it, before anything is done.
void Server::make_room(Due& due) const {
    net::make_room(
        due, conversation_.waiting().size() + conversation_.in_flight().size() + parted_.size());
}

void Server::serve(Moment now, Due& due) {
    if (is_torn()) lost(now, std::nullopt, due);
    // What an earlier turn has read, and could not take.
    if (!replies_.empty() || failure_) take(due);
    whole([&] { serve_requests(now, due); });
}

void Server::serve_requests(Moment now, Due& due) {
    make_room(due);
    answer_parted(due);
    const bool is_wanted = !conversation_.is_idle();
    if (is_wanted && link_.state() == Link::State::down && now >= backoff_.next()) link_.open(now);
    if (link_.state() != Link::State::down && !link_.ready()) connect(now, due);
    if (conversation_.is_overdue(now)) lost(now, std::nullopt, due);
    net::finish(conversation_.expire(now), due);
}

void Server::connect(Moment now, Due& due) {
    if (auto failure = link_.advance(now)) {
        backoff_.failed(now);
        return net::finish(conversation_.attempt_failed(*std::move(failure)), due);
    }
    if (link_.ready()) connected();
}

void Server::connected() {
    conversation_.connected();
    connection_ = ++connections_;
}

/// Goes on where an exception has ended it.
void Server::lost(Moment now, const std::optional<Failure>& why, Due& due) {
    torn_ = true;
    link_.close();
    replies_.clear();
    failure_.reset();
    connection_ = 0;
    backoff_.failed(now);
    make_room(due);
    part(conversation_.lost(), due);
    outflow_.clear();
    // What has not gone out yet, and must not by another one.
    part(conversation_.give_up([this](const Request& request) { return is_for_another(request); },
                               [this](const Request&) { return conversation_.out_of_time(); }),
         due);
    torn_ = false;
    if (why) net::finish(conversation_.attempt_failed(*why), due);
}

/// Not a failure: whoever asked looks by which version the item is known now.
void Server::part(Conversation::GivenUps given_up, Due& due) {
    for (auto& one : given_up) {
        net::finish(std::move(one.request), Reply{.kind = Reply::Kind::parted}, due);
    }
}

void Server::answer_parted(Due& due) {
    for (auto& request : parted_) {
        if (!request) continue;
        net::finish(std::move(request), Reply{.kind = Reply::Kind::parted}, due);
    }
    parted_.clear();
}

pollfd Server::awaited() const {
    pollfd polled{.fd = link_.descriptor(), .events = link_.wanted(), .revents = 0};
    if (outflow_.wants_room()) polled.events |= POLLOUT;
    return polled;
}

void Server::read(short events) {
    if (events != 0 && link_.ready() && !failure_) failure_ = link_.receive(replies_);
}

/// Without a poll(): a third of what it takes beside a raw blocking call.
void Server::await() {
    failure_ = link_.await(replies_);
}

void Server::take(Due& due) {
    whole([&] {
        make_room(due);
        if (!replies_.empty()) backoff_.succeeded();
        for (Reply& reply : replies_) {
            if (settle(std::move(reply), due)) continue;
            failure_ = Failure{errc::unreachable, Effect::none,
                               address_.shown() + ": it answers to what it was not asked"};
            break;
        }
        replies_.clear();
        if (const auto failure = std::exchange(failure_, std::nullopt)) {
            lost(BootClock::now(), failure, due);
        }
    });
}

/// Whether it answers the first of those that were asked. A miss does not say what it answers.
bool Server::settle(Reply reply, Due& due) {
    if (conversation_.in_flight().empty()) return false;
    const std::uint64_t expected = conversation_.in_flight().front()->number;
    if (reply.number.value_or(expected) != expected) return false;
    if (reply.kind == Reply::Kind::error) {
        Failure failure = conversation_.in_flight().front()->refused(
            failure_of(reply.text, address_, user_.password));
        net::finish(conversation_.answered(), std::move(failure), due);
        return true;
    }
    reply.connection = connection_;
    net::finish(conversation_.answered(), std::move(reply), due);
    return true;
}

Moment Server::earliest() const {
    if (is_torn()) return {};
    Moment first = conversation_.earliest();
    if (const auto deadline = link_.deadline()) first = std::min(first, *deadline);
    if (!conversation_.waiting().empty() && link_.state() == Link::State::down) {
        first = std::min(first, backoff_.next());
    }
    return first;
}

}  // namespace holdfast::inline v0::memcached
