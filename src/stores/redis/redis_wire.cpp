#include "stores/redis/redis_wire.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "stores/redis/failures.hpp"

namespace holdfast::inline v0::redis {

using namespace std::chrono_literals;

namespace {

/// While so many batches of requests are unanswered, further ones wait for the next answer and then
/// go out together: the server would not look at them earlier, and reads them at once.
constexpr std::size_t most_batches = 3;
/// So many requests at most are carried out by one script: the server does nothing else meanwhile.
constexpr std::size_t most_together = 32;
/// How long requests go out one by one when the server refuses them together, whatever the reason.
constexpr auto time_apart = 1s;
/// How long a server that is loading its data, or busy, is left alone.
constexpr auto passing_trouble = 50ms;
/// How often the second connection is tried while nothing comes: what is lost with it unnoticed is
/// made up for after this and the time limit of a request.
constexpr auto ping_interval = 2s;

std::vector<Command> greeting_of(const Address& address) {
    std::vector<Command> greeting;
    if (!address.password.empty()) {
        greeting.push_back(address.user.empty() ? Command{"AUTH", address.password}
                                                : Command{"AUTH", address.user, address.password});
    }
    if (address.database != 0) {
        greeting.push_back({"SELECT", std::to_string(address.database)});
    }
    greeting.push_back({"CLIENT", "SETNAME", "holdfast"});
    return greeting;
}

/// The last two answers are the connection's number and the confirmed subscription.
std::vector<Command> listening_greeting_of(const Address& address, const std::string& channel) {
    auto greeting = greeting_of(address);
    greeting.push_back({"CLIENT", "ID"});
    greeting.push_back({"SUBSCRIBE", channel});
    return greeting;
}

}  // namespace

RedisWire::RedisWire(Address address, Pushes pushes)
    : address_(std::move(address)),
      pushes_(std::move(pushes)),
      bell_(interrupt_descriptor()),
      requests_(address_, greeting_of(address_), [bell = bell_] { bell.ring(); }),
      conversation_(address_.shown(), address_.request_timeout),
      pushes_link_(address_, listening_greeting_of(address_, pushes_.channel),
                   [bell = bell_] { bell.ring(); }) {}

RedisWire::~RedisWire() {
    close();
}

void RedisWire::submit(Command command, Answered answered) {
    auto request = std::make_unique<Request>(std::move(command), std::move(answered),
                                             BootClock::now() + address_.request_timeout);
    Lock lock(mutex_);
    conversation_.submit(std::move(request));
    if (may_send()) {
        flush(lock);
        // Whoever leads is to poll for room. What is wrong, reading will find out.
        if (!outflow_.empty()) bell_.ring();
    } else if (!requests_.ready() || conversation_.is_held_back()) {
        // Whoever leads may be asleep over a connection that nobody needed, or does not know that
        // somebody waits for the end of a pause.
        bell_.ring();
    }
}

void RedisWire::listen(const std::weak_ptr<Listener>& listener) {
    const std::lock_guard guard(mutex_);
    if (listening_.want(listener)) bell_.ring();
}

bool RedisWire::may_send() const {
    return requests_.ready() && !outflow_.is_pouring() && may_encode();
}

bool RedisWire::may_encode() const {
    return !conversation_.waiting().empty() && batch_sizes_.size() < most_batches &&
           !conversation_.is_held_back();
}

void RedisWire::flush(Lock& lock) {
    outflow_.pour(lock, requests_, [this](std::string& bytes) {
        if (may_encode()) encode_outbox(bytes);
    });
}

/// Those next to each other that one script can run are one request to the server.
void RedisWire::encode_outbox(std::string& bytes) {
    const auto& outbox = conversation_.waiting();
    batch_sizes_.push_back(0);
    for (std::size_t first = 0; first < outbox.size(); first += group_sizes_.back()) {
        group_sizes_.push_back(size_of_group(first));
        ++batch_sizes_.back();
        if (group_sizes_.back() == 1) {
            outbox[first]->command.append_to(bytes);
            continue;
        }
        for (std::size_t i = 0; i < group_sizes_.back(); ++i) {
            group_.push_back(&outbox[first + i]->command);
        }
        Command::append_together(group_, std::exchange(together_by_text_, false), bytes);
        group_.clear();
    }
    conversation_.all_sent(BootClock::now());
}

std::size_t RedisWire::size_of_group(std::size_t first) const {
    const auto& outbox = conversation_.waiting();
    const Script* const together = outbox[first]->command.together();
    if (together == nullptr || outbox.size() == 1 || BootClock::now() < apart_until_) return 1;
    const std::size_t most = std::min(most_together, outbox.size() - first);
    std::size_t size = 1;
    while (size < most && outbox[first + size]->command.together() == together) ++size;
    return size;
}

void RedisWire::turn(std::optional<Moment> until, Due& due) {
    std::array<pollfd, 3> polled{};
    {
        Lock lock(mutex_);
        serve(BootClock::now(), due);
        // It may be connected by this, or held back no more, and then nothing comes in that would
        // end the poll().
        if (may_send()) flush(lock);
        if (!due.empty()) return;
        if (may_await(until)) return await_answer(lock, due);
        until = earliest(until);
        polled[0] = {.fd = interrupt_descriptor(), .events = POLLIN, .revents = 0};
        polled[1] = {.fd = requests_.descriptor(), .events = requests_.wanted(), .revents = 0};
        if (outflow_.wants_room()) polled[1].events |= POLLOUT;
        polled[2] = {
            .fd = pushes_link_.descriptor(), .events = pushes_link_.wanted(), .revents = 0};
        if (!unsent_ping_.empty()) polled[2].events |= POLLOUT;
    }
    if (poll(polled.data(), polled.size(), poll_timeout(until)) <= 0) return;
    if (polled[0].revents != 0) take_interrupt();
    // Without the lock, which those who send need: a link is opened and closed by whoever leads
    // alone.
    read(requests_, polled[1].revents, answers_);
    read(pushes_link_, polled[2].revents, messages_);
    Lock lock(mutex_);
    take_answers(due);
    take_pushes(due);
    if (may_send() || (outflow_.wants_room() && requests_.ready())) flush(lock);
}

/// Whether one answer is all that whoever leads waits for. What else would end a poll() can wait
/// for that answer then, or for its time to be up: nobody listens, and other requests are sent by
/// those who make them.
bool RedisWire::may_await(std::optional<Moment> until) const {
    if (until || listening_.wanted() || !led_by_caller()) return false;
    const auto& in_flight = conversation_.in_flight();
    if (in_flight.size() != 1 || !conversation_.waiting().empty() || !outflow_.empty())
        return false;
    const auto longest = requests_.socket()->patience();
    const auto left = in_flight.front()->deadline - BootClock::now();
    return longest && left > *longest - *longest / 8;
}

/// Without a poll(): a third of what it takes beside a raw blocking call.
void RedisWire::await_answer(Lock& lock, Due& due) {
    lock.unlock();
    answers_.replies.clear();
    answers_.failure = requests_.await(answers_.replies);
    lock.lock();
    take_answers(due);
    if (may_send()) flush(lock);
}

/// When the next thing is due by itself.
std::optional<Moment> RedisWire::earliest(std::optional<Moment> until) const {
    Moment first = until.value_or(Moment::max());
    const auto also = [&](std::optional<Moment> moment) {
        if (moment) first = std::min(first, *moment);
    };
    also(requests_.deadline());
    also(conversation_.earliest());
    if (!conversation_.waiting().empty() && requests_.state() == Link::State::down) {
        also(requests_backoff_.next());
    }
    if (listening_.wanted()) {
        also(pushes_link_.deadline());
        also(pong_due_);
        if (pushes_link_.ready() && !pong_due_) also(next_ping_);
        if (pushes_link_.state() == Link::State::down) also(listening_.next_attempt());
    }
    if (first == Moment::max()) return std::nullopt;
    return first;
}

void RedisWire::serve(Moment now, Due& due) {
    serve_requests(now, due);
    if (listening_.wanted()) serve_pushes(now, due);
    expire(now, due);
}

void RedisWire::serve_requests(Moment now, Due& due) {
    conversation_.go_on(now);
    if (!conversation_.is_idle() && requests_.state() == Link::State::down &&
        now >= requests_backoff_.next()) {
        requests_.open(now);
    }
    if (requests_.state() == Link::State::down || requests_.ready()) return;
    if (auto failure = requests_.advance(now)) {
        requests_backoff_.failed(now);
        return net::finish(conversation_.attempt_failed(*std::move(failure)), due);
    }
    if (!requests_.ready()) return;
    conversation_.connected();
    if (!pushes_.tracked || !pushes_link_.ready()) return;
    // What the last connection had read is tracked no more.
    track();
    listening_.began(due);
}

void RedisWire::lost(Moment now, Due& due) {
    requests_.close();
    requests_backoff_.failed(now);
    net::finish(conversation_.lost(), due);
    batch_sizes_.clear();
    group_sizes_.clear();
    together_by_text_ = true;
    outflow_.clear();
}

void RedisWire::read(Link& link, short events, Arrival& arrival) {
    arrival.failure.reset();
    arrival.replies.clear();
    if (events != 0 && link.ready()) arrival.failure = link.receive(arrival.replies);
}

void RedisWire::take_answers(Due& due) {
    if (!answers_.replies.empty()) requests_backoff_.succeeded();
    for (Reply& reply : answers_.replies) {
        if (group_sizes_.empty()) break;
        const std::size_t requests = group_sizes_.front();
        group_sizes_.pop_front();
        if (--batch_sizes_.front() == 0) batch_sizes_.pop_front();
        take_answer(requests, std::move(reply), due);
    }
    if (answers_.failure) lost(BootClock::now(), due);
}

/// That of one request, or of several that went out together.
void RedisWire::take_answer(std::size_t requests, Reply reply, Due& due) {
    if (requests > 1 && reply.elements.size() != requests) {
        return refused_together(reply.text, requests);
    }
    for (std::size_t i = 0; i < requests && !conversation_.in_flight().empty(); ++i) {
        settle(conversation_.answered(), std::move(requests > 1 ? reply.elements[i] : reply), due);
    }
}

/// They had no effect, and come again: with the script's text, or each alone.
void RedisWire::refused_together(std::string_view text, std::size_t requests) {
    if (is_unknown_script(text)) {
        together_by_text_ = true;
    } else {
        apart_until_ = BootClock::now() + time_apart;
    }
    for (; requests > 0; --requests) conversation_.send_again(conversation_.answered());
}

void RedisWire::settle(std::unique_ptr<Request> request, Reply reply, Due& due) {
    if (!reply.is_error()) return net::finish(std::move(request), std::move(reply), due);
    if (is_unknown_script(reply.text) && request->command.by_digest()) {
        request->command.by_text();
        return conversation_.send_again(std::move(request));
    }
    Failure failure = failure_of(reply.text, address_);
    if (is_passing(reply.text)) {
        conversation_.hold_back(BootClock::now() + passing_trouble);
        request->trouble = std::move(failure);
        return conversation_.send_again(std::move(request));
    }
    if (is_elsewhere(reply.text)) lost(BootClock::now(), due);
    failure = request->refused(std::move(failure));
    net::finish(std::move(request), std::move(failure), due);
}

void RedisWire::expire(Moment now, Due& due) {
    if (conversation_.is_overdue(now)) lost(now, due);
    net::finish(conversation_.expire(now), due);
}

void RedisWire::serve_pushes(Moment now, Due& due) {
    if (pushes_link_.state() == Link::State::down) {
        if (now < listening_.next_attempt()) return;
        pushes_link_.open(now);
    }
    if (pushes_link_.ready()) return ping(now, due);
    if (pushes_link_.advance(now)) return pushes_lost(now, due);
    if (pushes_link_.ready()) pushes_ready(due);
}

void RedisWire::pushes_ready(Due& due) {
    next_ping_ = BootClock::now() + ping_interval;
    if (pushes_.tracked && requests_.ready()) track();
    listening_.began(due);
}

void RedisWire::pushes_lost(Moment now, Due& due) {
    pushes_link_.close();
    pong_due_.reset();
    unsent_ping_.clear();
    listening_.lost(now, due);
}

/// Everything that is read on the requests' connection from now on is reported to the other one.
void RedisWire::track() {
    const auto& greeted = pushes_link_.greeted();
    const auto number = std::to_string(greeted[greeted.size() - 2].integer);
    // First of all, so that no read before it goes untracked. An older one names a second
    // connection that is gone.
    conversation_.begin_with(std::make_unique<Request>(
        Command{"CLIENT", "TRACKING", "ON", "REDIRECT", number}, [](const Answer&) {},
        Moment::max()));
}

void RedisWire::ping(Moment now, Due& due) {
    if (pong_due_ && now >= *pong_due_) return pushes_lost(now, due);
    if (now >= next_ping_ && !pong_due_) {
        Command{"PING"}.append_to(unsent_ping_);
        pong_due_ = now + address_.request_timeout;
    }
    if (unsent_ping_.empty()) return;
    const auto transfer = pushes_link_.socket()->write(unsent_ping_);
    unsent_ping_.erase(0, transfer.bytes);
}

void RedisWire::take_pushes(Due& due) {
    if (!messages_.replies.empty()) {
        // Whatever comes shows that it is alive.
        next_ping_ = BootClock::now() + ping_interval;
        pong_due_.reset();
    }
    for (Reply& message : messages_.replies) listening_.heard(std::move(message), due);
    if (messages_.failure) pushes_lost(BootClock::now(), due);
}

}  // namespace holdfast::inline v0::redis
