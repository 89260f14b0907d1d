#include "stores/redis/node.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "stores/redis/failures.hpp"

namespace holdfast::inline v0::redis {

using namespace std::chrono_literals;

namespace {

/// After so long without an answer it is worth asking whether another node is in its place.
constexpr auto suspicious_silence = 300ms;

/// Ends with what tells one process of the server from the next, where replicas must confirm.
std::vector<Command> greeting_of(const Address& address, Part part) {
    auto greeting = entering(address, part);
    const bool names_its_process = address.replicas != Replicas::none || part == Part::independent;
    if (names_its_process) greeting.push_back({"INFO", "server"});
    return greeting;
}

std::unique_ptr<Confirmer> confirmer_for(const Address& address, Part part,
                                         const std::function<void()>& resolved) {
    if (address.replicas == Replicas::none) return nullptr;
    return std::make_unique<Confirmer>(address, part, greeting_of(address, part), resolved);
}

}  // namespace

Node::Node(Address address, Pushes pushes, Part part, const std::function<void()>& resolved)
    : address_(std::move(address)),
      pushes_(std::move(pushes)),
      part_(part),
      requests_(address_, greeting_of(address_, part), resolved, part),
      confirmer_(confirmer_for(address_, part, resolved)),
      ear_(address_, part, pushes_.channel, resolved) {}

// --- requests ---

bool Node::may_send() const {
    return is_connected() && !outflow_.is_pouring() && exchange_.may_encode();
}

bool Node::needs_leader() const {
    return !is_connected() || exchange_.is_held_back() || outflow_.wants_room() || is_torn();
}

void Node::flush(Lock& lock) {
    if (!may_send() && !(outflow_.wants_room() && is_connected())) return;
    outflow_.pour(lock, requests_, [this](std::string& bytes) {
        // While the lock was open it may have been lost, and be half made again.
        if (is_connected() && exchange_.may_encode()) exchange_.encode(bytes);
    });
}

bool Node::has_before(const Request& request) const {
    const auto is_before = [&](const auto& one) {
        return one->hash_slot == request.hash_slot && one->number < request.number;
    };
    return std::ranges::any_of(exchange_.in_flight(), is_before) ||
           std::ranges::any_of(exchange_.waiting(), is_before);
}

bool Node::may_await() const {
    // What confirms it comes by another connection.
    if (confirmer_) return false;
    const auto& in_flight = exchange_.in_flight();
    const bool is_alone = in_flight.size() == 1 && exchange_.waiting().empty() && outflow_.empty();
    if (!is_alone || is_torn()) return false;
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
    const auto& in_flight = exchange_.in_flight();
    Moment expected = in_flight.empty() ? Moment::max() : in_flight.front()->sent;
    if (confirmer_) expected = std::min(expected, confirmer_->round_ends());
    return expected == Moment::max() ? expected : expected + suspicious_silence;
}

/// One that ends by an exception leaves the node closed, and to be lost().
template <class Step>
void Node::whole(Step step) {
    try {
        step();
    } catch (...) {
        torn_ = true;
        close();
        throw;
    }
}

/// For all that may be told of it, before anything is done.
void Node::make_room(Due& due) const {
    const std::size_t confirming = confirmer_ ? confirmer_->size() : 0;
    net::make_room(due, exchange_.waiting().size() + exchange_.in_flight().size() + confirming +
                            answered_.size());
}

void Node::serve(Moment now, Listening& listening, Due& due) {
    if (is_torn()) lost(now, due);
    whole([&] { serve_requests(now, listening, due); });
}

void Node::serve_requests(Moment now, Listening& listening, Due& due) {
    make_room(due);
    exchange_.go_on(now);
    if (!is_idle() && requests_.state() == Link::State::down && now >= backoff_.next()) {
        open(now);
    }
    if (requests_.state() != Link::State::down && !is_connected()) connect(now, listening, due);
    if (exchange_.is_overdue(now)) lost(now, due);
    if (confirmer_ && confirmer_->is_overdue(now)) lost(now, due);
    if (confirmer_) confirmer_->serve(now, due);
    net::finish(exchange_.expire(now), due);
}

void Node::open(Moment now) {
    opened_ = now;
    requests_.open(now);
    if (confirmer_) confirmer_->link().open(now);
}

/// Of what has come by them nothing counts any more.
void Node::close() noexcept {
    requests_.close();
    answers_.clear();
    confirmed_.clear();
    if (confirmer_) confirmer_->close();
}

/// And not confirmed, or not told.
void Node::send_again_what_was_answered() {
    for (auto& [request, reply] : answered_) {
        if (!request) continue;
        request->lost();
        exchange_.send_again(std::move(request));
    }
    answered_.clear();
    if (confirmer_) confirmer_->give_back(exchange_);
}

std::optional<Failure> Node::advance(Moment now) {
    if (!requests_.ready()) {
        if (auto failure = requests_.advance(now)) return failure;
        if (requests_.ready()) {
            if (auto failure = objection_to_run()) return failure;
        }
    }
    if (!confirmer_) return std::nullopt;
    if (!confirmer_->link().ready()) {
        if (auto failure = confirmer_->link().advance(now)) return failure;
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
        send_again_what_was_answered();
        unreached_ = true;
        backoff_.failed(now);
        return net::finish(exchange_.attempt_failed(*std::move(failure)), due);
    }
    if (is_connected()) connected(listening, due);
}

void Node::connected(Listening& listening, Due& due) {
    exchange_.connected();
    if (part_ == Part::independent) {
        run_ = run_in(requests_.greeted().back());
        exchange_.signed_by(run_);
    }
    if (!pushes_.tracked || !ear_.is_ready()) return;
    // What the last connection had read is tracked no more.
    track();
    listening.began(due);
}

/// Goes on where an exception has ended it.
void Node::lost(Moment now, Due& due) {
    torn_ = true;
    close();
    unreached_ = true;
    backoff_.failed(now);
    make_room(due);
    send_again_what_was_answered();
    net::finish(exchange_.lost(), due);
    outflow_.clear();
    torn_ = false;
}

void Node::refused(const Failure& why, Moment now, Due& due) {
    lost(now, due);
    net::finish(exchange_.attempt_failed(why), due);
}

void Node::leave_alone(Moment until, const Failure& why, Moment now, Due& due) {
    if (is_connected()) refused(why, now, due);
    exchange_.hold_back(until);
}

void Node::dissolve(Lobby& lobby, Due& due) {
    ear_.close();
    lost(BootClock::now(), due);
    while (!exchange_.waiting().empty()) {
        exchange_.give_away(exchange_.waiting().begin(), [&](std::unique_ptr<Request>&& request) {
            lobby.send_again(std::move(request));
        });
    }
}

// --- a turn ---

void Node::poll_for(std::vector<pollfd>& descriptors) const {
    pollfd requests{.fd = requests_.descriptor(), .events = requests_.wanted(), .revents = 0};
    if (outflow_.wants_room()) requests.events |= POLLOUT;
    if (answers_.failure) requests.fd = -1;  // it was read, and would end each poll()
    descriptors.push_back(requests);
    descriptors.push_back(ear_.awaited());
    pollfd confirming{.fd = -1, .events = 0, .revents = 0};
    if (confirmer_) {
        confirming.fd = confirmed_.failure ? -1 : confirmer_->link().descriptor();
        confirming.events = confirmer_->link().wanted();
        if (confirmer_->has_unsent()) confirming.events |= POLLOUT;
    }
    descriptors.push_back(confirming);
}

void Node::read(std::span<const pollfd> descriptors) {
    receive(requests_, descriptors[0].revents, answers_);
    ear_.read(descriptors[1].revents);
    if (confirmer_) receive(confirmer_->link(), descriptors[2].revents, confirmed_);
}

void Node::receive(Link& link, short events, Arrival& arrival) {
    if (events == 0 || !link.ready() || arrival.failure) return;
    arrival.failure = link.receive(arrival.replies);
}

/// Without a poll(): a third of what it takes beside a raw blocking call.
void Node::await() {
    answers_.failure = requests_.await(answers_.replies);
}

void Node::take_answers(Due& due, std::vector<TurnedAway>& away) {
    whole([&] {
        make_room(due);
        settle_answers(due, away);
        if (confirmer_) take_confirmations(due);
    });
}

void Node::settle_answers(Due& due, std::vector<TurnedAway>& away) {
    if (!answers_.replies.empty()) {
        backoff_.succeeded();
        unreached_ = false;
    }
    for (Reply& reply : answers_.replies) exchange_.take(std::move(reply), answered_);
    net::make_room(away, answered_.size());
    for (auto& answered : answered_) settle(answered, due, away);
    answered_.clear();
    if (answers_.failure) lost(BootClock::now(), due);
    answers_.clear();
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

/// A hold is one when enough replicas have it, and not before.
void Node::settle(Exchange::Answered& answered, Due& due, std::vector<TurnedAway>& away) {
    auto& [request, reply] = answered;
    if (reply.is_error()) {
        if (is_elsewhere(reply.text)) {
            return away.push_back({this, std::move(request), std::move(reply.text)});
        }
        Failure failure = request->refused(failure_of(reply.text, address_));
        return net::finish(std::move(request), std::move(failure), due);
    }
    if (confirmer_ && admits(reply, request->command.numbers_each())) {
        return confirmer_->add(std::move(request), std::move(reply));
    }
    net::finish(std::move(request), std::move(reply), due);
}

Moment Node::earliest(const Listening& listening) const {
    if (is_torn()) return {};
    Moment first = exchange_.earliest();
    const auto also = [&](std::optional<Moment> moment) {
        if (moment) first = std::min(first, *moment);
    };
    also(requests_.deadline());
    if (confirmer_) {
        also(confirmer_->link().deadline());
        also(confirmer_->earliest());
    }
    if (!exchange_.waiting().empty() && requests_.state() == Link::State::down) {
        also(backoff_.next());
    }
    if (listening.wanted()) also(ear_.earliest());
    return first;
}

// --- pushes ---

Node::Hearing Node::serve_pushes(Moment now, Listening& listening, Due& due) {
    try {
        const Hearing hearing = ear_.serve(now, listening, due);
        if (hearing == Hearing::begins) {
            if (pushes_.tracked && requests_.ready()) track();
            listening.began(due);
        }
        return hearing;
    } catch (...) {
        // Nobody was told that it is heard, or not any more.
        if (listening.period() == 0) ear_.close();
        throw;
    }
}

/// Everything that is read on the requests' connection from now on is reported to the other one.
void Node::track() {
    // First of all, so that no read before it goes untracked. An older one names a second
    // connection that is gone.
    exchange_.begin_with(std::make_unique<Request>(
        Command{"CLIENT", "TRACKING", "ON", "REDIRECT", std::to_string(ear_.number())},
        [](const Answer&) {}, Moment::max()));
}

}  // namespace holdfast::inline v0::redis
