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
/// After so long without an answer it is worth asking whether another node is in its place.
constexpr auto suspicious_silence = 300ms;

std::vector<Command> greeting_of(const Address& address, Node::Part part) {
    auto greeting = entering(address);
    if (part == Node::Part::master) greeting.push_back({"ROLE"});
    return greeting;
}

/// Ends with what tells one process of the server from the next, where replicas must confirm.
std::vector<Command> asking_greeting_of(const Address& address, Node::Part part) {
    auto greeting = greeting_of(address, part);
    const bool names_its_process =
        address.replicas != Replicas::none || part == Node::Part::independent;
    if (names_its_process) greeting.push_back({"INFO", "server"});
    return greeting;
}

std::unique_ptr<Confirmer> confirmer_for(const Address& address, Node::Part part,
                                         const std::function<void()>& resolved) {
    if (address.replicas == Replicas::none) return nullptr;
    return std::make_unique<Confirmer>(address, asking_greeting_of(address, part), resolved);
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
      requests_(address_, asking_greeting_of(address_, part), resolved),
      conversation_(address_.shown(), address_.request_timeout),
      confirmer_(confirmer_for(address_, part, resolved)),
      pushes_link_(address_, listening_greeting_of(address_, part, pushes_.channel), resolved) {}

bool Node::may_send() const {
    return is_connected() && !outflow_.is_pouring() && may_encode();
}

bool Node::may_encode() const {
    return !conversation_.waiting().empty() && batch_sizes_.size() < most_batches &&
           !conversation_.is_held_back();
}

bool Node::needs_leader() const {
    return !is_connected() || conversation_.is_held_back() || outflow_.wants_room();
}

void Node::flush(Lock& lock) {
    if (!may_send() && !(outflow_.wants_room() && is_connected())) return;
    outflow_.pour(lock, requests_, [this](std::string& bytes) {
        // While the lock was open it may have been lost, and be half made again.
        if (is_connected() && may_encode()) encode_outbox(bytes);
    });
}

/// Those next to each other that one script can run are one request to the server.
void Node::encode_outbox(std::string& bytes) {
    batch_sizes_.push_back(0);
    encode_libraries(bytes);
    for (std::size_t first = 0; first < conversation_.waiting().size();) {
        first += encode_group(first, bytes);
    }
    conversation_.all_sent(BootClock::now());
}

void Node::expect(Expected answer) {
    expected_.push_back(answer);
    ++batch_sizes_.back();
}

void Node::encode_libraries(std::string& bytes) {
    while (const Script* const given = functions_.append_library(bytes)) {
        expect({.script = given});
    }
}

/// How many requests it is.
std::size_t Node::encode_group(std::size_t first, std::string& bytes) {
    const auto& outbox = conversation_.waiting();
    if (outbox[first]->asking) {
        Command{"ASKING"}.append_to(bytes);
        expect({});
    }
    const std::size_t size = size_of_group(first);
    const Way way = functions_.way(BootClock::now());
    for (std::size_t i = 0; i < size; ++i) {
        Command& command = outbox[first + i]->command;
        command.go_by(way);
        if (part_ == Part::independent) command.sign(run_);
        group_.push_back(&command);
    }
    const Command& leader = *group_.front();
    if (size == 1) {
        leader.append_to(bytes);
        expect({size, leader.script(), leader.way()});
    } else {
        Command::append_together(group_, bytes);
        expect({size, leader.together(), Command::way_together(group_)});
    }
    group_.clear();
    return size;
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
    // What confirms it comes by another connection.
    if (confirmer_) return false;
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
    if (!is_connected() && requests_.state() != Link::State::down) {
        return opened_ + suspicious_silence;
    }
    const auto& in_flight = conversation_.in_flight();
    Moment expected = in_flight.empty() ? Moment::max() : in_flight.front()->sent;
    if (confirmer_) expected = std::min(expected, confirmer_->round_ends());
    return expected == Moment::max() ? expected : expected + suspicious_silence;
}

void Node::serve(Moment now, Listening& listening, Due& due) {
    conversation_.go_on(now);
    if (!is_idle() && requests_.state() == Link::State::down && now >= backoff_.next()) {
        open(now);
    }
    if (requests_.state() != Link::State::down && !is_connected()) connect(now, listening, due);
    if (conversation_.is_overdue(now)) lost(now, due);
    if (confirmer_ && confirmer_->is_overdue(now)) lost(now, due);
    if (confirmer_) confirmer_->serve(now, due);
    net::finish(conversation_.expire(now), due);
}

void Node::open(Moment now) {
    opened_ = now;
    requests_.open(now);
    if (confirmer_) confirmer_->link().open(now);
}

/// What was answered and not confirmed is asked again, on the next connection.
void Node::close() {
    requests_.close();
    if (!confirmer_) return;
    for (auto& request : confirmer_->dissolve()) conversation_.send_again(std::move(request));
}

std::optional<Failure> Node::advance(Moment now) {
    std::optional<Failure> failure;
    if (!requests_.ready()) {
        failure = requests_.advance(now);
        if (!failure && requests_.ready()) failure = objection_to(requests_);
        if (!failure && requests_.ready()) failure = objection_to_run();
    }
    if (!failure && confirmer_) failure = advance_confirmer(now);
    return failure;
}

std::optional<Failure> Node::advance_confirmer(Moment now) {
    Link& link = confirmer_->link();
    if (!link.ready()) {
        if (auto failure = link.advance(now)) return failure;
        if (link.ready()) {
            if (auto failure = objection_to(link)) return failure;
        }
    }
    return is_connected() ? objection_to_pair() : std::nullopt;
}

/// Both must lead to the same process: where several are at one address, they may not.
std::optional<Failure> Node::objection_to_pair() const {
    const std::string run = run_in(requests_.greeted().back());
    if (!run.empty() && run == run_in(confirmer_->link().greeted().back())) return std::nullopt;
    return Failure{errc::unreachable, Effect::none,
                   address_.shown() +
                       ": two connections to it lead to two servers, so that replicas cannot "
                       "confirm; use the address of one server"};
}

/// What is learnt of an independent node counts for one process of it alone.
std::optional<Failure> Node::objection_to_run() const {
    if (part_ != Part::independent) return std::nullopt;
    if (run_in(requests_.greeted().back()).size() == run_digits) return std::nullopt;
    return Failure{errc::bad_configuration, Effect::none,
                   address_.shown() +
                       ": it does not say which process it is (run_id in INFO server); use the "
                       "address of a Redis server, and nothing between"};
}

std::string_view Node::run() const noexcept {
    return is_connected() ? std::string_view(run_) : std::string_view();
}

void Node::knows_of_replicas(std::size_t count) noexcept {
    if (confirmer_) confirmer_->knows_of(count);
}

void Node::connect(Moment now, Listening& listening, Due& due) {
    auto failure = advance(now);
    if (failure) {
        close();
        unreached_ = true;
        backoff_.failed(now);
        return net::finish(conversation_.attempt_failed(*std::move(failure)), due);
    }
    if (is_connected()) connected(listening, due);
}

std::optional<Failure> Node::objection_to(const Link& link) const {
    if (part_ != Part::master) return std::nullopt;
    // Behind what every greeting begins with.
    const Reply& role = link.greeted()[entering(address_).size()];
    if (is_masters(role)) return std::nullopt;
    return Failure{errc::unreachable, Effect::none,
                   address_.shown() + ": it says that it is no master (" +
                       (role.elements.empty() ? role.text : role.elements[0].text) + ")"};
}

void Node::connected(Listening& listening, Due& due) {
    conversation_.connected();
    if (part_ == Part::independent) run_ = run_in(requests_.greeted().back());
    if (!pushes_.tracked || !pushes_link_.ready()) return;
    // What the last connection had read is tracked no more.
    track();
    listening.began(due);
}

void Node::lost(Moment now, Due& due) {
    close();
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
    expected_.clear();
    functions_.forget();
    outflow_.clear();
}

std::vector<std::unique_ptr<Request>> Node::dissolve(Due& due) {
    close();
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
    if (probe_.wants_room()) pushes.events |= POLLOUT;
    descriptors.push_back(requests);
    descriptors.push_back(pushes);
    pollfd confirming{.fd = -1, .events = 0, .revents = 0};
    if (confirmer_) {
        confirming.fd = confirmer_->link().descriptor();
        confirming.events = confirmer_->link().wanted();
        if (confirmer_->has_unsent()) confirming.events |= POLLOUT;
    }
    descriptors.push_back(confirming);
}

void Node::read(std::span<const pollfd> descriptors) {
    receive(requests_, descriptors[0].revents, answers_);
    receive(pushes_link_, descriptors[1].revents, messages_);
    if (confirmer_) receive(confirmer_->link(), descriptors[2].revents, confirmed_);
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
        if (expected_.empty()) break;
        const Expected expected = expected_.front();
        expected_.pop_front();
        if (--batch_sizes_.front() == 0) batch_sizes_.pop_front();
        take_answer(expected, std::move(reply), due, away);
    }
    if (answers_.failure) lost(BootClock::now(), due);
    answers_.replies.clear();
    answers_.failure.reset();
    if (confirmer_) take_confirmations(due);
}

/// The next round begins at once, and so with all that was answered until now.
void Node::take_confirmations(Due& due) {
    const Moment now = BootClock::now();
    auto failure = std::exchange(confirmed_.failure, std::nullopt);
    // Of a connection that was closed since, nothing counts.
    if (!is_connected()) return confirmed_.replies.clear();
    if (!failure) failure = confirmer_->take(confirmed_.replies, due);
    confirmed_.replies.clear();
    if (failure) return refused(*failure, now, due);
    confirmer_->serve(now, due);
}

/// That of one request, or of several that went out together. Of none: of what the server was
/// given, or that it is asked though it does not serve the key.
void Node::take_answer(const Expected& expected, Reply reply, Due& due,
                       std::vector<TurnedAway>& away) {
    const std::size_t requests = expected.requests;
    if (requests == 0) {
        if (expected.script == nullptr) return;
        return functions_.given(*expected.script, reply, BootClock::now());
    }
    if (reply.is_error() && ask_otherwise(expected, reply.text)) return;
    if (requests > 1 && reply.elements.size() != requests) {
        return refused_together(reply.text, requests, away);
    }
    for (std::size_t i = 0; i < requests && !conversation_.in_flight().empty(); ++i) {
        settle(conversation_.answered(), std::move(requests > 1 ? reply.elements[i] : reply), due,
               away);
    }
}

/// Whether the server refused the way in which it was asked, and another one is left. It had no
/// effect.
bool Node::ask_otherwise(const Expected& expected, std::string_view error) {
    if (expected.script == nullptr) return false;
    const auto way = functions_.instead(*expected.script, expected.way, error, BootClock::now());
    if (!way) return false;
    for (std::size_t i = 0; i < expected.requests; ++i) {
        auto request = conversation_.answered();
        request->command.go_by(*way);
        conversation_.send_again(std::move(request));
    }
    return true;
}

/// They had no effect, and come again: elsewhere, or each alone.
void Node::refused_together(const std::string& error, std::size_t requests,
                            std::vector<TurnedAway>& away) {
    const bool elsewhere = is_elsewhere(error);
    if (!elsewhere) apart_until_ = BootClock::now() + time_apart;
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
    if (!reply.is_error()) return answered(std::move(request), std::move(reply), due);
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

/// A hold is one when enough replicas have it, and not before.
void Node::answered(std::unique_ptr<Request> request, Reply reply, Due& due) {
    if (confirmer_ && admits(reply, request->command.numbers_each())) {
        return confirmer_->add(std::move(request), std::move(reply));
    }
    net::finish(std::move(request), std::move(reply), due);
}

Moment Node::earliest(const Listening& listening) const {
    Moment first = conversation_.earliest();
    const auto also = [&](std::optional<Moment> moment) {
        if (moment) first = std::min(first, *moment);
    };
    also(requests_.deadline());
    if (confirmer_) {
        also(confirmer_->link().deadline());
        also(confirmer_->earliest());
    }
    if (!conversation_.waiting().empty() && requests_.state() == Link::State::down) {
        also(backoff_.next());
    }
    if (listening.wanted()) {
        also(pushes_link_.deadline());
        also(probe_.earliest());
    }
    return first;
}

// --- pushes ---

Node::Hearing Node::serve_pushes(Moment now, Listening& listening, Due& due) {
    if (is_deaf()) {
        if (now < listening.next_attempt()) return Hearing::goes_on;
        pushes_link_.open(now);
    }
    if (pushes_link_.ready()) {
        return probe_.go_on(pushes_link_, now) ? Hearing::goes_on
                                               : pushes_lost(now, listening, due);
    }
    auto failure = pushes_link_.advance(now);
    if (!failure && pushes_link_.ready()) failure = objection_to(pushes_link_);
    if (failure) return pushes_lost(now, listening, due);
    if (pushes_link_.ready()) pushes_ready(listening, due);
    return Hearing::goes_on;
}

void Node::pushes_ready(Listening& listening, Due& due) {
    probe_.heard(BootClock::now());
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
    probe_.end();
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

Node::Hearing Node::take_pushes(Listening& listening, Due& due) {
    // Whatever comes shows that it is alive.
    if (!messages_.replies.empty()) probe_.heard(BootClock::now());
    for (Reply& message : messages_.replies) listening.heard(std::move(message), due);
    messages_.replies.clear();
    if (!std::exchange(messages_.failure, std::nullopt)) return Hearing::goes_on;
    return pushes_lost(BootClock::now(), listening, due);
}

}  // namespace holdfast::inline v0::redis
