#include "stores/zookeeper/conversation.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include <holdfast/error.hpp>

#include "port/sentences.hpp"
#include "stores/zookeeper/failures.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

/// Clients spread over the servers.
std::size_t any_of(std::size_t count) {
    return static_cast<std::size_t>(BootClock::now().time_since_epoch().count()) % count;
}

/// Of a write: a server that has no time for it refuses it by itself.
bool is_of_majority(Refusal refusal) {
    return refusal == Refusal::none || is_of_transaction(refusal);
}

}  // namespace

Conversation::Conversation(const Ensemble& ensemble, Term term, net::Bell bell,
                           std::weak_ptr<Listener> listener)
    : ensemble_(ensemble),
      bell_(std::move(bell)),
      listener_(std::move(listener)),
      session_(ensemble, term),
      link_([rings = bell_] { rings.ring(); }),
      server_(any_of(ensemble.servers.size())) {}

void Conversation::submit(Lock& lock, Volley volley, Answered answered) {
    const Moment now = last_used_ = BootClock::now();
    const Moment deadline = volley.deadline.value_or(now + ensemble_.request_timeout);
    if (!volley.forgets.empty() && session_.unwatch(volley.forgets)) {
        outbox_.push_back({.volley = {.operations = {forget_watch(volley.forgets)}},
                           .answered = [](const Answer&) {},
                           .deadline = deadline});
    }
    outbox_.push_back(
        {.volley = std::move(volley), .answered = std::move(answered), .deadline = deadline});
    if (has_been_idle(now)) start_over_ = true;
    if (may_send()) {
        flush(lock);
        // Whoever leads is to poll for room. What is wrong, reading will find out.
        if (!unsent_.empty()) bell_.ring();
    } else if (!link_.ready() || start_over_) {
        // Whoever leads may be asleep over a connection that nobody needed.
        bell_.ring();
    }
}

/// For so long that a lease counted from then would be half over. Taken up anew, the session is
/// heard of by the leader.
bool Conversation::has_been_idle(Moment now) const {
    return link_.ready() && in_flight_.empty() && now - last_heard_ > session_.timeout() / 2;
}

bool Conversation::may_send() const {
    return link_.ready() && !flushing_ && !outbox_.empty() && !start_over_;
}

/// Hands everything in the outbox to the socket, and what others put there meanwhile.
void Conversation::flush(Lock& lock) {
    flushing_ = true;
    while (link_.ready() && !start_over_ && (!outbox_.empty() || !unsent_.empty())) {
        const Moment now = BootClock::now();
        if (in_flight_.empty()) waiting_since_ = now;
        for (Request& request : outbox_) {
            request.sent = now;
            request.next_number = next_number_;
            for (const Operation& operation : request.volley.operations) {
                append_frame(unsent_, request_record(next_number_++, operation));
            }
            if (next_number_ > std::numeric_limits<std::int32_t>::max() / 2) next_number_ = 1;
            in_flight_.push_back(std::move(request));
        }
        outbox_.clear();
        const auto socket = link_.socket();
        std::string bytes = std::exchange(unsent_, {});
        lock.unlock();
        const auto transfer = net::write_all(*socket, bytes);
        lock.lock();
        // Another connection by now: nothing of this means anything on it.
        if (link_.socket() != socket) continue;
        if (transfer.bytes < bytes.size()) {
            unsent_.insert(0, bytes, transfer.bytes);
            if (transfer.outcome == net::Socket::Outcome::failed) socket->shut_down();
            break;
        }
        // Its room is there for the next ones.
        bytes.clear();
        if (unsent_.empty()) unsent_ = std::move(bytes);
    }
    flushing_ = false;
}

void Conversation::serve(Lock& lock, Due& due) {
    const Moment now = BootClock::now();
    if (std::exchange(start_over_, false) && in_flight_.empty()) link_.close();
    connect(now, due);
    give_up_silent(now, due);
    expire(now, due);
    retire(now, due);
    keep_alive(now);
    if (may_send() || (!unsent_.empty() && !flushing_ && link_.ready())) flush(lock);
}

pollfd Conversation::awaited() const {
    pollfd polled{.fd = link_.descriptor(), .events = link_.wanted(), .revents = 0};
    if (!unsent_.empty() && !flushing_) polled.events |= POLLOUT;
    return polled;
}

std::optional<Moment> Conversation::earliest(std::optional<Moment> until) const {
    Moment first = until.value_or(Moment::max());
    const auto also = [&](std::optional<Moment> moment) {
        if (moment) first = std::min(first, *moment);
    };
    also(link_.deadline());
    for (const auto* const requests : {&outbox_, &in_flight_}) {
        for (const Request& request : *requests) also(request.deadline);
    }
    if (!in_flight_.empty()) also(waiting_since_ + ensemble_.connect_timeout);
    if (link_.ready()) also(last_kept_alive_ + session_.timeout() / 6);
    if (link_.state() == Link::State::down && is_needed()) also(backoff_.next());
    if (first == Moment::max()) return std::nullopt;
    return first;
}

/// A session is kept for those who have nodes in it, also while nobody asks for anything.
bool Conversation::is_needed() const {
    return !outbox_.empty() || session_.id() != 0;
}

void Conversation::connect(Moment now, Due& due) {
    if (is_needed() && link_.state() == Link::State::down && now >= backoff_.next()) {
        if (is_beyond_its_time(now)) end_session(due);
        auto greeting = session_.greeting();
        watches_under_way_ = greeting.watches;
        link_.open(ensemble_.servers[server_], std::move(greeting.bytes), now, attempts_++);
    }
    if (link_.state() == Link::State::down || link_.ready()) return;
    if (const auto failure = link_.advance(now)) return attempt_failed(*failure, now, due);
    if (!link_.ready()) return;
    attached(due);
    // What came with the session's answer has been read with it: poll() would not tell.
    take(read(), due);
}

void Conversation::attached(Due& due) {
    failed_in_row_ = hopeless_in_row_ = 0;
    last_failure_.clear();
    const auto before = session_.id() == 0 ? std::chrono::milliseconds{} : session_.timeout();
    if (session_.answered(link_.session(), link_.opened()) == Session::Fate::over) {
        link_.close();
        return end_session(due);
    }
    last_heard_ = last_kept_alive_ = BootClock::now();
    if (session_.timeout() < before) {
        due.push_back([weak = listener_, id = session_.id(), granted = session_.timeout()] {
            if (const auto listener = weak.lock()) listener->session_shortened(id, granted);
        });
    }
    refuse_longer_leases(due);
}

void Conversation::refuse_longer_leases(Due& due) {
    std::deque<Request> waiting;
    std::swap(waiting, outbox_);
    for (Request& request : waiting) {
        if (request.volley.lease <= session_.timeout()) {
            outbox_.push_back(std::move(request));
            continue;
        }
        Failure failure = lease_too_long(request.volley.lease, session_.timeout(), ensemble_);
        if (request.repeated) failure.effect = Effect::unknown;
        finish(std::move(request), std::move(failure), session_.id(), due);
    }
}

/// Nothing was heard for so long that it is over, though no server has said so.
bool Conversation::is_beyond_its_time(Moment now) const {
    return session_.id() != 0 && now - last_heard_ > session_.timeout() + ensemble_.tick;
}

void Conversation::end_session(Due& due) {
    due.push_back([weak = listener_, over = session_.end()] {
        if (const auto listener = weak.lock()) listener->session_over(over);
    });
}

/// Whoever has a node in it would have renewed it since.
void Conversation::retire(Moment now, Due& due) {
    const bool idle = outbox_.empty() && in_flight_.empty() && unsent_.empty() && !flushing_;
    if (!idle || session_.id() == 0 || now - last_used_ <= session_.timeout()) return;
    if (link_.ready()) say_goodbye();
    link_.close();
    end_session(due);
}

void Conversation::attempt_failed(const Failure& failure, Moment now, Due& due) {
    server_ = (server_ + 1) % ensemble_.servers.size();
    last_failure_ = failure.sentence;
    // All of them are tried at once, and then again after a while.
    if (++failed_in_row_ % ensemble_.servers.size() == 0) backoff_.failed(now);
    if (hopeless_in_row_ == 0) hopeless_since_ = now;
    hopeless_in_row_ = link_.is_hopeless() ? hopeless_in_row_ + 1 : 0;
    if (is_mended_by_time(failure, now)) return;
    for (Request& request : std::exchange(outbox_, {})) {
        Failure told = failure;
        if (request.repeated) told.effect = Effect::unknown;
        finish(std::move(request), std::move(told), session_.id(), due);
    }
}

/// What is wrong with the configuration will not be right in a moment; nor will servers be that
/// all say the same nonsense twice. Once may be an accident, and so may twice in a moment.
bool Conversation::is_mended_by_time(const Failure& failure, Moment now) const {
    const bool all_hopeless = hopeless_in_row_ >= 2 * ensemble_.servers.size() &&
                              now - hopeless_since_ >= ensemble_.connect_timeout / 10;
    return failure.code != errc::bad_configuration && !all_hopeless;
}

/// By something that goes to the leader: a ping would be answered by a follower that is cut off
/// from it.
void Conversation::keep_alive(Moment now) {
    if (!link_.ready() || now < last_kept_alive_ + session_.timeout() / 6) return;
    last_kept_alive_ = now;
    outbox_.push_back({.volley = {.operations = {catch_up()}},
                       .answered = [](const Answer&) {},
                       .deadline = now + ensemble_.request_timeout});
}

/// A server that says nothing may be dead, and another one not.
void Conversation::give_up_silent(Moment now, Due& due) {
    if (in_flight_.empty() || now < waiting_since_ + ensemble_.connect_timeout) return;
    lost(due);
}

void Conversation::expire(Moment now, Due& due) {
    const auto is_over = [&](const Request& request) { return now >= request.deadline; };
    // Answers come in order: without this one there will be none of the others either.
    if (std::ranges::any_of(in_flight_, is_over)) lost(due);
    for (auto over = std::ranges::find_if(outbox_, is_over); over != outbox_.end();
         over = std::ranges::find_if(outbox_, is_over)) {
        Request request = std::move(*over);
        outbox_.erase(over);
        Failure failure = timed_out(ensemble_.shown(), ensemble_.request_timeout, last_failure_);
        failure.effect = request.repeated ? Effect::unknown : Effect::none;
        finish(std::move(request), std::move(failure), session_.id(), due);
    }
}

/// What was under way is sent again on the next connection, before all else, if it may be.
void Conversation::lost(Due& due) {
    link_.close();
    backoff_.failed(BootClock::now());
    server_ = (server_ + 1) % ensemble_.servers.size();
    unsent_.clear();
    std::deque<Request> again;
    for (Request& request : std::exchange(in_flight_, {})) {
        request.repeated = true;
        request.replies.clear();
        if (request.volley.when_lost == WhenLost::repeat) {
            again.push_back(std::move(request));
            continue;
        }
        finish(std::move(request),
               Failure{errc::unreachable, Effect::unknown,
                       ensemble_.shown() + ": the connection broke before it was answered"},
               session_.id(), due);
    }
    outbox_.insert(outbox_.begin(), std::make_move_iterator(again.begin()),
                   std::make_move_iterator(again.end()));
}

Conversation::Arrival Conversation::read() {
    Arrival arrival;
    if (link_.ready()) arrival.failure = link_.receive(arrival.records);
    return arrival;
}

void Conversation::take(const Arrival& arrival, Due& due) {
    try {
        for (const std::string& record : arrival.records) {
            // An earlier one may have ended the connection.
            if (link_.ready()) take_record(record, due);
        }
    } catch (const Error&) {
        // Not ZooKeeper's protocol, or not any more.
        return lost(due);
    }
    if (arrival.failure && link_.ready()) lost(due);
}

void Conversation::take_record(const std::string& record, Due& due) {
    last_heard_ = waiting_since_ = BootClock::now();
    Incoming arrived = incoming(record);
    session_.saw(arrived.zxid);
    if (arrived.number == event_number) {
        if (auto event = event_of(arrived.reply)) stir(*std::move(event), due);
    } else if (arrived.number == auth_number) {
        if (arrived.reply.ok()) return;
        lost(due);
        attempt_failed(failure_of(arrived.reply.refusal, ensemble_), last_heard_, due);
    } else if (arrived.number == watches_number) {
        if (watches_under_way_ > 0) --watches_under_way_;
    } else {
        take_reply(std::move(arrived), due);
    }
}

void Conversation::take_reply(Incoming arrived, Due& due) {
    if (in_flight_.empty() || in_flight_.front().next_number != arrived.number) return lost(due);
    const Refusal refusal = arrived.reply.refusal;
    // Said of the connection, whatever it answers: the next one will tell what is true.
    if (refusal == Refusal::session_moved || refusal == Refusal::session_expired ||
        refusal == Refusal::connection_loss) {
        return lost(due);
    }
    backoff_.succeeded();
    Request& request = in_flight_.front();
    const Operation& asked = request.volley.operations[request.replies.size()];
    session_.proof().answered(request.sent, last_heard_);
    if (asked.writes && is_of_majority(refusal)) {
        session_.proof().answered_by_majority(request.sent);
    }
    last_kept_alive_ = std::max(last_kept_alive_, request.sent);
    ++request.next_number;
    request.replies.push_back(std::move(arrived.reply));
    if (request.replies.size() < request.volley.operations.size()) return;
    Request done = std::move(request);
    in_flight_.pop_front();
    std::vector<Reply> replies = std::move(done.replies);
    finish(std::move(done), std::move(replies), session_.id(), due);
}

/// A server that watches again tells all that has ended meanwhile, but not in its order: then it is
/// only said that something has changed.
void Conversation::stir(Event event, Due& due) {
    if (watches_under_way_ > 0) event.what = Event::What::changed;
    session_.unwatch(event.path);
    in_order_.tell(
        [weak = listener_, session = session_.id(), event = std::move(event)] {
            const auto listener = weak.lock();
            if (listener) listener->stirred(session, event.path, event.what);
        },
        due);
}

void Conversation::finish(Request request, Result<std::vector<Reply>> result, std::int64_t session,
                          Due& due) {
    const bool in_order = request.volley.watches;
    Callback<void()> tell = [answered = std::move(request.answered),
                             answer = Answer{std::move(result), request.repeated, request.sent,
                                             session}]() mutable { answered(std::move(answer)); };
    if (in_order) return in_order_.tell(std::move(tell), due);
    due.push_back(std::move(tell));
}

bool Conversation::say_goodbye() noexcept {
    try {
        if (!link_.ready()) return false;
        std::string bytes = std::exchange(unsent_, {});
        append_frame(bytes, request_record(next_number_++, close_session()));
        return net::write_all(*link_.socket(), bytes).bytes == bytes.size();
    } catch (const std::exception&) {
        // The session then ends by itself.
        return false;
    }
}

bool Conversation::has_ended() noexcept {
    try {
        std::vector<std::string> records;
        return link_.receive(records).has_value();
    } catch (const std::exception&) {
        return true;
    }
}

}  // namespace holdfast::inline v0::zookeeper
