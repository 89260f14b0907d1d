#include "stores/redis/node.hpp"

#include <algorithm>
#include <iterator>
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
/// After so long without an answer it is worth asking whether another node is in its place.
constexpr auto suspicious_silence = 300ms;

std::vector<Command> greeting_of(const Address& address, Node::Part part) {
    auto greeting = entering(address);
    if (part == Node::Part::master) greeting.push_back({"ROLE"});
    return greeting;
}

/// The last two answers are the connection's number and the confirmed subscription.
std::vector<Command> listening_greeting_of(const Address& address, Node::Part part,
                                           const std::string& channel) {
    auto greeting = greeting_of(address, part);
    greeting.push_back({"CLIENT", "ID"});
    greeting.push_back({"SUBSCRIBE", channel});
    return greeting;
}

/// ["master", ...], or another word.
bool is_masters(const Reply& role) {
    return !role.elements.empty() && role.elements[0].text == "master";
}

}  // namespace

Node::Node(Address address, Pushes pushes, Part part, const std::function<void()>& resolved)
    : address_(std::move(address)),
      pushes_(std::move(pushes)),
      part_(part),
      requests_(address_, greeting_of(address_, part), resolved),
      conversation_(address_.shown(), address_.request_timeout),
      pushes_link_(address_, listening_greeting_of(address_, part, pushes_.channel), resolved) {}

bool Node::may_send() const {
    return requests_.ready() && !outflow_.is_pouring() && may_encode();
}

bool Node::may_encode() const {
    return !conversation_.waiting().empty() && batch_sizes_.size() < most_batches &&
           !conversation_.is_held_back();
}

bool Node::needs_leader() const {
    return !requests_.ready() || conversation_.is_held_back() || outflow_.wants_room();
}

void Node::flush(Lock& lock) {
    if (!may_send() && !(outflow_.wants_room() && requests_.ready())) return;
    outflow_.pour(lock, requests_, [this](std::string& bytes) {
        if (may_encode()) encode_outbox(bytes);
    });
}

/// Those next to each other that one script can run are one request to the server.
void Node::encode_outbox(std::string& bytes) {
    batch_sizes_.push_back(0);
    for (std::size_t first = 0; first < conversation_.waiting().size();) {
        encode_group(first, bytes);
        first += group_sizes_.back();
    }
    conversation_.all_sent(BootClock::now());
}

void Node::encode_group(std::size_t first, std::string& bytes) {
    const auto& outbox = conversation_.waiting();
    if (outbox[first]->asking) {
        Command{"ASKING"}.append_to(bytes);
        group_sizes_.push_back(0);
        ++batch_sizes_.back();
    }
    group_sizes_.push_back(size_of_group(first));
    ++batch_sizes_.back();
    if (group_sizes_.back() == 1) return outbox[first]->command.append_to(bytes);
    for (std::size_t i = 0; i < group_sizes_.back(); ++i) {
        group_.push_back(&outbox[first + i]->command);
    }
    Command::append_together(group_, std::exchange(together_by_text_, false), bytes);
    group_.clear();
}

std::size_t Node::size_of_group(std::size_t first) const {
    const auto& outbox = conversation_.waiting();
    const Request& leader = *outbox[first];
    const Script* const together = leader.command.together();
    if (together == nullptr || outbox.size() == 1 || BootClock::now() < apart_until_) return 1;
    if (leader.asking) return 1;
    const auto belongs = [&](const Request& other) {
        return other.command.together() == together && other.hash_slot == leader.hash_slot &&
               !other.asking;
    };
    const std::size_t most = std::min(most_together, outbox.size() - first);
    std::size_t size = 1;
    while (size < most && belongs(*outbox[first + size])) ++size;
    return size;
}

bool Node::may_await() const {
    const auto& in_flight = conversation_.in_flight();
    if (in_flight.size() != 1 || !conversation_.waiting().empty() || !outflow_.empty()) {
        return false;
    }
    const auto longest = requests_.socket()->patience();
    const auto left = in_flight.front()->deadline - BootClock::now();
    return longest && left > *longest - *longest / 8;
}

bool Node::is_in_trouble(Moment now) const {
    return !is_idle() && (unreached_ || now >= in_trouble_at());
}

Moment Node::in_trouble_at() const {
    if (is_idle()) return Moment::max();
    if (!requests_.ready() && requests_.state() != Link::State::down) {
        return opened_ + suspicious_silence;
    }
    const auto& in_flight = conversation_.in_flight();
    return in_flight.empty() ? Moment::max() : in_flight.front()->sent + suspicious_silence;
}

void Node::serve(Moment now, Listening& listening, Due& due) {
    conversation_.go_on(now);
    if (!is_idle() && requests_.state() == Link::State::down && now >= backoff_.next()) {
        opened_ = now;
        requests_.open(now);
    }
    if (requests_.state() != Link::State::down && !requests_.ready()) connect(now, listening, due);
    if (conversation_.is_overdue(now)) lost(now, due);
    net::finish(conversation_.expire(now), due);
}

void Node::connect(Moment now, Listening& listening, Due& due) {
    auto failure = requests_.advance(now);
    if (!failure && requests_.ready()) failure = objection_to(requests_);
    if (failure) {
        requests_.close();
        unreached_ = true;
        backoff_.failed(now);
        return net::finish(conversation_.attempt_failed(*std::move(failure)), due);
    }
    if (requests_.ready()) connected(listening, due);
}

std::optional<Failure> Node::objection_to(const Link& link) const {
    if (part_ == Part::any) return std::nullopt;
    // Behind what every greeting begins with.
    const Reply& role = link.greeted()[entering(address_).size()];
    if (is_masters(role)) return std::nullopt;
    return Failure{errc::unreachable, Effect::none,
                   address_.shown() + ": it says that it is no master (" +
                       (role.elements.empty() ? role.text : role.elements[0].text) + ")"};
}

void Node::connected(Listening& listening, Due& due) {
    conversation_.connected();
    if (!pushes_.tracked || !pushes_link_.ready()) return;
    // What the last connection had read is tracked no more.
    track();
    listening.began(due);
}

void Node::lost(Moment now, Due& due) {
    requests_.close();
    unreached_ = true;
    backoff_.failed(now);
    net::finish(conversation_.lost(), due);
    forget_flight();
}

void Node::refused(const Failure& why, Moment now, Due& due) {
    lost(now, due);
    net::finish(conversation_.attempt_failed(why), due);
}

void Node::forget_flight() {
    batch_sizes_.clear();
    group_sizes_.clear();
    together_by_text_ = true;
    outflow_.clear();
}

std::vector<std::unique_ptr<Request>> Node::dissolve(Due& due) {
    requests_.close();
    net::finish(conversation_.lost(), due);
    forget_flight();
    close_pushes();
    std::vector<std::unique_ptr<Request>> recalled;
    while (!conversation_.waiting().empty()) {
        recalled.push_back(conversation_.give_away(conversation_.waiting().begin()));
    }
    return recalled;
}

// --- a turn ---

void Node::poll_for(std::vector<pollfd>& descriptors) const {
    pollfd requests{.fd = requests_.descriptor(), .events = requests_.wanted(), .revents = 0};
    if (outflow_.wants_room()) requests.events |= POLLOUT;
    pollfd pushes{.fd = pushes_link_.descriptor(), .events = pushes_link_.wanted(), .revents = 0};
    if (!unsent_ping_.empty()) pushes.events |= POLLOUT;
    descriptors.push_back(requests);
    descriptors.push_back(pushes);
}

void Node::read(std::span<const pollfd> descriptors) {
    receive(requests_, descriptors[0].revents, answers_);
    receive(pushes_link_, descriptors[1].revents, messages_);
}

void Node::receive(Link& link, short events, Arrival& arrival) {
    arrival.failure.reset();
    arrival.replies.clear();
    if (events != 0 && link.ready()) arrival.failure = link.receive(arrival.replies);
}

/// Without a poll(): a third of what it takes beside a raw blocking call.
void Node::await() {
    answers_.replies.clear();
    answers_.failure = requests_.await(answers_.replies);
}

void Node::take_answers(Due& due, std::vector<TurnedAway>& away) {
    if (!answers_.replies.empty()) {
        backoff_.succeeded();
        unreached_ = false;
    }
    for (Reply& reply : answers_.replies) {
        if (group_sizes_.empty()) break;
        const std::size_t requests = group_sizes_.front();
        group_sizes_.pop_front();
        if (--batch_sizes_.front() == 0) batch_sizes_.pop_front();
        take_answer(requests, std::move(reply), due, away);
    }
    if (answers_.failure) lost(BootClock::now(), due);
    answers_.replies.clear();
    answers_.failure.reset();
}

/// That of one request, or of several that went out together. Of none: that it is asked though it
/// does not serve the key.
void Node::take_answer(std::size_t requests, Reply reply, Due& due, std::vector<TurnedAway>& away) {
    if (requests > 1 && reply.elements.size() != requests) {
        return refused_together(std::move(reply.text), requests, away);
    }
    for (std::size_t i = 0; i < requests && !conversation_.in_flight().empty(); ++i) {
        settle(conversation_.answered(), std::move(requests > 1 ? reply.elements[i] : reply), due,
               away);
    }
}

/// They had no effect, and come again: with the script's text, elsewhere, or each alone.
void Node::refused_together(std::string error, std::size_t requests,
                            std::vector<TurnedAway>& away) {
    const bool elsewhere = is_elsewhere(error);
    if (is_unknown_script(error)) {
        together_by_text_ = true;
    } else if (!elsewhere) {
        apart_until_ = BootClock::now() + time_apart;
    }
    for (; requests > 0; --requests) {
        auto request = conversation_.answered();
        if (elsewhere) {
            away.push_back({this, std::move(request), error});
        } else {
            conversation_.send_again(std::move(request));
        }
    }
}

void Node::settle(std::unique_ptr<Request> request, Reply reply, Due& due,
                  std::vector<TurnedAway>& away) {
    if (!reply.is_error()) return net::finish(std::move(request), std::move(reply), due);
    if (is_unknown_script(reply.text) && request->command.by_digest()) {
        request->command.by_text();
        return conversation_.send_again(std::move(request));
    }
    if (is_elsewhere(reply.text)) {
        return away.push_back({this, std::move(request), std::move(reply.text)});
    }
    Failure failure = failure_of(reply.text, address_);
    if (is_passing(reply.text)) {
        conversation_.hold_back(BootClock::now() + passing_trouble);
        request->trouble = std::move(failure);
        return conversation_.send_again(std::move(request));
    }
    failure = request->refused(std::move(failure));
    net::finish(std::move(request), std::move(failure), due);
}

Moment Node::earliest(const Listening& listening) const {
    Moment first = conversation_.earliest();
    const auto also = [&](std::optional<Moment> moment) {
        if (moment) first = std::min(first, *moment);
    };
    also(requests_.deadline());
    if (!conversation_.waiting().empty() && requests_.state() == Link::State::down) {
        also(backoff_.next());
    }
    if (listening.wanted()) {
        also(pushes_link_.deadline());
        also(pong_due_);
        if (pushes_link_.ready() && !pong_due_) also(next_ping_);
    }
    return first;
}

// --- pushes ---

Node::Hearing Node::serve_pushes(Moment now, Listening& listening, Due& due) {
    if (is_deaf()) {
        if (now < listening.next_attempt()) return Hearing::goes_on;
        pushes_link_.open(now);
    }
    if (pushes_link_.ready()) return ping(now, listening, due);
    auto failure = pushes_link_.advance(now);
    if (!failure && pushes_link_.ready()) failure = objection_to(pushes_link_);
    if (failure) return pushes_lost(now, listening, due);
    if (pushes_link_.ready()) pushes_ready(listening, due);
    return Hearing::goes_on;
}

void Node::pushes_ready(Listening& listening, Due& due) {
    next_ping_ = BootClock::now() + ping_interval;
    if (pushes_.tracked && requests_.ready()) track();
    listening.began(due);
}

Node::Hearing Node::pushes_lost(Moment now, Listening& listening, Due& due) {
    close_pushes();
    listening.lost(now, due);
    return Hearing::lost;
}

void Node::close_pushes() {
    pushes_link_.close();
    pong_due_.reset();
    unsent_ping_.clear();
}

/// Everything that is read on the requests' connection from now on is reported to the other one.
void Node::track() {
    const auto& greeted = pushes_link_.greeted();
    const auto number = std::to_string(greeted[greeted.size() - 2].integer);
    // First of all, so that no read before it goes untracked. An older one names a second
    // connection that is gone.
    conversation_.begin_with(std::make_unique<Request>(
        Command{"CLIENT", "TRACKING", "ON", "REDIRECT", number}, [](const Answer&) {},
        Moment::max()));
}

Node::Hearing Node::ping(Moment now, Listening& listening, Due& due) {
    if (pong_due_ && now >= *pong_due_) return pushes_lost(now, listening, due);
    if (now >= next_ping_ && !pong_due_) {
        Command{"PING"}.append_to(unsent_ping_);
        pong_due_ = now + address_.request_timeout;
    }
    if (unsent_ping_.empty()) return Hearing::goes_on;
    const auto transfer = pushes_link_.socket()->write(unsent_ping_);
    unsent_ping_.erase(0, transfer.bytes);
    return Hearing::goes_on;
}

Node::Hearing Node::take_pushes(Listening& listening, Due& due) {
    if (!messages_.replies.empty()) {
        // Whatever comes shows that it is alive.
        next_ping_ = BootClock::now() + ping_interval;
        pong_due_.reset();
    }
    for (Reply& message : messages_.replies) listening.heard(std::move(message), due);
    messages_.replies.clear();
    if (!std::exchange(messages_.failure, std::nullopt)) return Hearing::goes_on;
    return pushes_lost(BootClock::now(), listening, due);
}

}  // namespace holdfast::inline v0::redis
