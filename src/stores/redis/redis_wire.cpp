#include "stores/redis/redis_wire.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "port/sentences.hpp"
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
      pushes_link_(address_, listening_greeting_of(address_, pushes_.channel),
                   [bell = bell_] { bell.ring(); }) {}

RedisWire::~RedisWire() {
    close();
}

void RedisWire::poke() const noexcept {
    bell_.ring();
}

void RedisWire::submit(Command command, Answered answered) {
    auto request = std::make_unique<Request>(std::move(command), std::move(answered),
                                             BootClock::now() + address_.request_timeout);
    Lock lock(mutex_);
    request->number = ++submitted_;
    outbox_.push_back(std::move(request));
    if (may_send()) {
        flush(lock);
        // Whoever leads is to poll for room. What is wrong, reading will find out.
        if (!unsent_.empty()) poke();
    } else if (!requests_.ready()) {
        // Whoever leads may be asleep over a connection that nobody needed.
        poke();
    }
}

void RedisWire::listen(const std::weak_ptr<Listener>& listener) {
    const std::lock_guard guard(mutex_);
    listener_ = listener;
    if (std::exchange(wants_pushes_, true)) return;
    poke();
}

bool RedisWire::may_send() const {
    return requests_.ready() && !flushing_ && !outbox_.empty() &&
           batch_sizes_.size() < most_batches && held_back_until_ == Moment{};
}

/// Hands everything in the outbox to the socket, and what others put there meanwhile. The lock is
/// open while the kernel works.
void RedisWire::flush(Lock& lock) {
    flushing_ = true;
    while (requests_.ready() && (!outbox_.empty() || !unsent_.empty())) {
        if (!outbox_.empty()) write_outbox();
        const auto socket = requests_.socket();
        std::string bytes = std::exchange(unsent_, {});
        lock.unlock();
        const auto transfer = net::write_all(*socket, bytes);
        lock.lock();
        // Another connection by now: all of this is in the outbox again.
        if (requests_.socket() != socket) continue;
        if (transfer.bytes < bytes.size()) {
            unsent_.insert(0, bytes, transfer.bytes);
            if (transfer.outcome == Socket::Outcome::failed) socket->shut_down();
            break;
        }
        // Its room is there for the next ones.
        bytes.clear();
        unsent_ = std::move(bytes);
        if (batch_sizes_.size() >= most_batches) break;
    }
    flushing_ = false;
}

/// Those next to each other that one script can run are one request to the server.
void RedisWire::write_outbox() {
    batch_sizes_.push_back(0);
    for (std::size_t first = 0; first < outbox_.size(); first += group_sizes_.back()) {
        group_sizes_.push_back(size_of_group(first));
        ++batch_sizes_.back();
        if (group_sizes_.back() == 1) {
            outbox_[first]->command.append_to(unsent_);
            continue;
        }
        for (std::size_t i = 0; i < group_sizes_.back(); ++i) {
            group_.push_back(&outbox_[first + i]->command);
        }
        Command::append_together(group_, std::exchange(together_by_text_, false), unsent_);
        group_.clear();
    }
    in_flight_.insert(in_flight_.end(), std::make_move_iterator(outbox_.begin()),
                      std::make_move_iterator(outbox_.end()));
    outbox_.clear();
}

std::size_t RedisWire::size_of_group(std::size_t first) const {
    const Script* const together = outbox_[first]->command.together();
    if (together == nullptr || outbox_.size() == 1 || BootClock::now() < apart_until_) return 1;
    const std::size_t most = std::min(most_together, outbox_.size() - first);
    std::size_t size = 1;
    while (size < most && outbox_[first + size]->command.together() == together) ++size;
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
        if (!unsent_.empty() && !flushing_) polled[1].events |= POLLOUT;
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
    if (may_send() || (!unsent_.empty() && !flushing_ && requests_.ready())) flush(lock);
}

/// Whether one answer is all that whoever leads waits for. What else would end a poll() can wait
/// for that answer then, or for its time to be up: nobody listens, and other requests are sent by
/// those who make them.
bool RedisWire::may_await(std::optional<Moment> until) const {
    if (until || wants_pushes_ || !led_by_caller()) return false;
    if (in_flight_.size() != 1 || !outbox_.empty() || !unsent_.empty()) return false;
    const auto longest = requests_.socket()->patience();
    const auto left = in_flight_.front()->deadline - BootClock::now();
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

/// Not always that of the first: what is sent again keeps its own.
Moment RedisWire::earliest_deadline(const Requests& requests) {
    Moment first = Moment::max();
    for (const auto& request : requests) first = std::min(first, request->deadline);
    return first;
}

/// When the next thing is due by itself.
std::optional<Moment> RedisWire::earliest(std::optional<Moment> until) const {
    Moment first = until.value_or(Moment::max());
    const auto also = [&](std::optional<Moment> moment) {
        if (moment) first = std::min(first, *moment);
    };
    also(requests_.deadline());
    also(earliest_deadline(in_flight_));
    if (!outbox_.empty()) {
        also(earliest_deadline(outbox_));
        if (held_back_until_ != Moment{}) also(held_back_until_);
        if (requests_.state() == Link::State::down) also(requests_backoff_.next());
    }
    if (wants_pushes_) {
        also(pushes_link_.deadline());
        also(pong_due_);
        if (pushes_link_.ready() && !pong_due_) also(next_ping_);
        if (pushes_link_.state() == Link::State::down) also(pushes_backoff_.next());
    }
    if (first == Moment::max()) return std::nullopt;
    return first;
}

void RedisWire::serve(Moment now, Due& due) {
    serve_requests(now, due);
    if (wants_pushes_) serve_pushes(now, due);
    expire(now, due);
}

void RedisWire::serve_requests(Moment now, Due& due) {
    if (held_back_until_ != Moment{} && now >= held_back_until_) held_back_until_ = {};
    const bool needed = !outbox_.empty() || !in_flight_.empty();
    if (needed && requests_.state() == Link::State::down && now >= requests_backoff_.next()) {
        requests_.open(now);
    }
    if (requests_.state() == Link::State::down || requests_.ready()) return;
    if (const auto failure = requests_.advance(now)) return attempt_failed(*failure, now, due);
    if (!requests_.ready()) return;
    for (const auto& request : outbox_) request->trouble.reset();
    if (!pushes_.tracked || !pushes_link_.ready()) return;
    // What the last connection had read is tracked no more.
    track();
    listening_ = ++periods_;
    missed(due);
}

void RedisWire::attempt_failed(const Failure& failure, Moment now, Due& due) {
    requests_backoff_.failed(now);
    // What is wrong with the configuration will not be right in a moment.
    const bool hopeless = failure.code == errc::bad_configuration;
    Requests waiting;
    std::swap(waiting, outbox_);
    for (auto& request : waiting) {
        request->trouble = failure;
        if (hopeless) {
            give_up(std::move(request), due);
        } else {
            outbox_.push_back(std::move(request));
        }
    }
}

/// What was under way is sent again on the next connection, before all else.
void RedisWire::lost(Moment now) {
    requests_backoff_.failed(now);
    std::erase_if(in_flight_, &RedisWire::is_of_connection);
    std::erase_if(outbox_, &RedisWire::is_of_connection);
    for (const auto& request : in_flight_) request->repeated = true;
    outbox_.insert(outbox_.begin(), std::make_move_iterator(in_flight_.begin()),
                   std::make_move_iterator(in_flight_.end()));
    in_flight_.clear();
    batch_sizes_.clear();
    group_sizes_.clear();
    together_by_text_ = true;
    unsent_.clear();
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
    if (!answers_.failure) return;
    requests_.close();
    lost(BootClock::now());
}

/// That of one request, or of several that went out together.
void RedisWire::take_answer(std::size_t requests, Reply reply, Due& due) {
    if (requests > 1 && reply.elements.size() != requests) {
        return refused_together(reply.text, requests);
    }
    for (std::size_t i = 0; i < requests && !in_flight_.empty(); ++i) {
        auto request = std::move(in_flight_.front());
        in_flight_.pop_front();
        settle(std::move(request), std::move(requests > 1 ? reply.elements[i] : reply), due);
    }
}

/// They had no effect, and come again: with the script's text, or each alone.
void RedisWire::refused_together(std::string_view text, std::size_t requests) {
    if (is_unknown_script(text)) {
        together_by_text_ = true;
    } else {
        apart_until_ = BootClock::now() + time_apart;
    }
    for (; requests > 0; --requests) {
        send_again(std::move(in_flight_.front()));
        in_flight_.pop_front();
    }
}

/// Before those that were submitted later: who enters one resource after the other stands in line
/// like that.
void RedisWire::send_again(std::unique_ptr<Request> request) {
    const auto later = std::ranges::upper_bound(outbox_, request->number, {}, &number_of);
    outbox_.insert(later, std::move(request));
}

void RedisWire::settle(std::unique_ptr<Request> request, Reply reply, Due& due) {
    if (!reply.is_error()) return finish(std::move(request), std::move(reply), due);
    if (is_unknown_script(reply.text) && request->command.by_digest()) {
        request->command.by_text();
        send_again(std::move(request));
        return;
    }
    if (is_passing(reply.text)) {
        held_back_until_ = BootClock::now() + passing_trouble;
        request->trouble = failure_of(reply.text, address_);
        send_again(std::move(request));
        return;
    }
    Failure failure = failure_of(reply.text, address_);
    if (request->repeated) failure.effect = Effect::unknown;
    if (is_elsewhere(reply.text)) {
        requests_.close();
        lost(BootClock::now());
    }
    finish(std::move(request), std::move(failure), due);
}

void RedisWire::expire(Moment now, Due& due) {
    if (now >= earliest_deadline(in_flight_)) {
        // Answers come in order: without this one there will be none of the others either.
        requests_.close();
        lost(now);
    }
    const auto is_over = [&](const auto& request) { return now >= request->deadline; };
    for (auto over = std::ranges::find_if(outbox_, is_over); over != outbox_.end();
         over = std::ranges::find_if(outbox_, is_over)) {
        auto request = std::move(*over);
        outbox_.erase(over);
        give_up(std::move(request), due);
    }
}

/// For what it met last or, when it met nothing, for its time.
void RedisWire::give_up(std::unique_ptr<Request> request, Due& due) {
    Failure failure =
        request->trouble.value_or(timed_out(address_.shown(), address_.request_timeout));
    failure.effect = request->repeated ? Effect::unknown : Effect::none;
    finish(std::move(request), std::move(failure), due);
}

void RedisWire::finish(std::unique_ptr<Request> request, Result<Reply> result, Due& due) {
    request->answer = Answer{std::move(result), request->repeated};
    due.push_back(
        [request = std::move(request)] { request->answered(*std::move(request->answer)); });
}

void RedisWire::serve_pushes(Moment now, Due& due) {
    if (pushes_link_.state() == Link::State::down) {
        if (now < pushes_backoff_.next()) return;
        pushes_link_.open(now);
    }
    if (pushes_link_.ready()) return ping(now, due);
    if (pushes_link_.advance(now)) return pushes_lost(now, due);
    if (pushes_link_.ready()) pushes_ready(due);
}

void RedisWire::pushes_ready(Due& due) {
    pushes_backoff_.succeeded();
    next_ping_ = BootClock::now() + ping_interval;
    if (pushes_.tracked && requests_.ready()) track();
    listening_ = ++periods_;
    missed(due);
}

/// As long as nothing is heard, each attempt to connect is also a moment to look.
void RedisWire::pushes_lost(Moment now, Due& due) {
    listening_ = 0;
    pong_due_.reset();
    unsent_ping_.clear();
    pushes_backoff_.failed(now);
    missed(due);
}

void RedisWire::missed(Due& due) {
    due.push_back([weak = listener_] {
        if (const auto listener = weak.lock()) listener->missed();
    });
}

/// Everything that is read on the requests' connection from now on is reported to the other one.
void RedisWire::track() {
    const auto& greeted = pushes_link_.greeted();
    const auto number = std::to_string(greeted[greeted.size() - 2].integer);
    // An older one names a second connection that is gone.
    std::erase_if(outbox_, &RedisWire::is_of_connection);
    // First of all, so that no read before it goes untracked.
    auto request = std::make_unique<Request>(
        Command{"CLIENT", "TRACKING", "ON", "REDIRECT", number}, [](const Answer&) {},
        Moment::max());
    request->of_connection = true;
    outbox_.push_front(std::move(request));
}

void RedisWire::ping(Moment now, Due& due) {
    if (pong_due_ && now >= *pong_due_) {
        pushes_link_.close();
        return pushes_lost(now, due);
    }
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
    for (Reply& message : messages_.replies) {
        due.push_back([weak = listener_, pushed = std::move(message)] {
            if (const auto listener = weak.lock()) listener->pushed(pushed);
        });
    }
    if (!messages_.failure) return;
    pushes_link_.close();
    pushes_lost(BootClock::now(), due);
}

}  // namespace holdfast::inline v0::redis
