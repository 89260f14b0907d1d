#include "stores/zookeeper/attachment.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <holdfast/error.hpp>

#include "port/sentences.hpp"
#include "stores/zookeeper/failures.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

/// Of a write: a server that has no time for it refuses it by itself.
bool is_of_majority(Refusal refusal) {
    return refusal == Refusal::none || is_of_transaction(refusal);
}

}  // namespace

Attachment::Attachment(const Ensemble& ensemble, Term term, net::Bell bell,
                       std::weak_ptr<Listener> listener)
    : ensemble_(ensemble),
      bell_(std::move(bell)),
      listener_(std::move(listener)),
      session_(ensemble, term),
      link_([rings = bell_] { rings.ring(); }),
      server_(ensemble.any()),
      conversation_(ensemble.shown(), ensemble.request_timeout) {}

void Attachment::submit(Lock& lock, Volley volley, Answered answered) {
    const Moment now = last_used_ = BootClock::now();
    const Moment deadline = volley.deadline.value_or(now + ensemble_.request_timeout);
    if (!volley.forgets.empty() && session_.unwatch(volley.forgets)) {
        put(forget_watch(volley.forgets), deadline);
    }
    conversation_.submit(
        std::make_unique<Request>(std::move(volley), std::move(answered), deadline));
    if (has_been_idle(now)) start_over_ = true;
    if (may_send()) {
        flush(lock);
        // Whoever leads is to poll for room. What is wrong, reading will find out.
        if (!outflow_.empty() || is_torn()) bell_.ring();
    } else if (!link_.ready() || start_over_) {
        // Whoever leads may be asleep over a connection that nobody needed.
        bell_.ring();
    }
}

/// An operation of our own, whose answer tells nobody anything.
void Attachment::put(Operation operation, Moment deadline) {
    Volley volley;
    volley.operations.push_back(std::move(operation));
    conversation_.submit(std::make_unique<Request>(
        std::move(volley), [](const Answer&) {}, deadline));
}

/// For so long that a lease counted from then would be half over. Taken up anew, the session is
/// heard of by the leader.
bool Attachment::has_been_idle(Moment now) const {
    return link_.ready() && conversation_.in_flight().empty() &&
           now - last_heard_ > session_.timeout() / 2;
}

bool Attachment::may_send() const {
    return link_.ready() && !outflow_.is_pouring() && !conversation_.waiting().empty() &&
           !start_over_;
}

void Attachment::flush(Lock& lock) {
    outflow_.pour(lock, link_, [this](std::string& bytes) {
        const bool any = !conversation_.waiting().empty() && !start_over_;
        if (any) encode_outbox(BootClock::now(), bytes);
    });
}

void Attachment::encode_outbox(Moment now, std::string& bytes) {
    if (conversation_.in_flight().empty()) waiting_since_ = now;
    for (const auto& request : conversation_.waiting()) {
        // Those that were answered on a connection before count no more.
        request->replies.clear();
        request->next_number = next_number_;
        for (const Operation& operation : request->volley.operations) {
            append_frame(bytes, request_record(next_number_++, operation));
        }
        if (next_number_ > std::numeric_limits<std::int32_t>::max() / 2) next_number_ = 1;
    }
    conversation_.all_sent(now);
}

/// One that ends by an exception leaves the connection closed, and to be lost().
template <class Step>
void Attachment::whole(Step step) {
    try {
        step();
    } catch (...) {
        torn_ = true;
        link_.close();
        throw;
    }
}

/// For all that may be told of it, before anything is done; and for the session.
void Attachment::make_room(Due& due) const {
    constexpr std::size_t of_session = 4;
    net::make_room(due,
                   conversation_.waiting().size() + conversation_.in_flight().size() + of_session);
}

void Attachment::serve(Lock& lock, Due& due) {
    if (is_torn()) lost(due);
    whole([&] { serve_requests(lock, due); });
}

void Attachment::serve_requests(Lock& lock, Due& due) {
    make_room(due);
    const Moment now = BootClock::now();
    if (std::exchange(start_over_, false) && conversation_.in_flight().empty()) link_.close();
    connect(now, due);
    give_up_silent(now, due);
    expire(now, due);
    retire(now, due);
    keep_alive(now);
    if (may_send() || (outflow_.wants_room() && link_.ready())) flush(lock);
}

pollfd Attachment::awaited() const {
    pollfd polled{.fd = link_.descriptor(), .events = link_.wanted(), .revents = 0};
    if (outflow_.wants_room()) polled.events |= POLLOUT;
    return polled;
}

std::optional<Moment> Attachment::earliest(std::optional<Moment> until) const {
    if (is_torn()) return Moment{};
    Moment first = until.value_or(Moment::max());
    const auto also = [&](std::optional<Moment> moment) {
        if (moment) first = std::min(first, *moment);
    };
    also(link_.deadline());
    also(conversation_.earliest());
    if (!conversation_.in_flight().empty()) also(waiting_since_ + ensemble_.connect_timeout);
    if (link_.ready()) also(last_kept_alive_ + session_.timeout() / 6);
    if (link_.state() == Link::State::down && is_needed()) also(backoff_.next());
    if (first == Moment::max()) return std::nullopt;
    return first;
}

/// A session is kept for those who have nodes in it, also while nobody asks for anything.
bool Attachment::is_needed() const {
    return !conversation_.waiting().empty() || session_.id() != 0;
}

void Attachment::connect(Moment now, Due& due) {
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

void Attachment::attached(Due& due) {
    failed_in_row_ = hopeless_in_row_ = 0;
    conversation_.connected();
    const auto before = session_.id() == 0 ? std::chrono::milliseconds{} : session_.timeout();
    if (session_.answered(link_.session(), link_.opened()) == KeptSession::Fate::over) {
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

void Attachment::refuse_longer_leases(Due& due) {
    const auto granted = session_.timeout();
    finish(conversation_.give_up(
               [&](const Request& request) { return request.volley.lease > granted; },
               [&](const Request& request) {
                   return lease_too_long(request.volley.lease, granted, ensemble_);
               }),
           due);
}

/// Nothing was heard for so long that it is over, though no server has said so.
bool Attachment::is_beyond_its_time(Moment now) const {
    return session_.id() != 0 && now - last_heard_ > session_.timeout() + ensemble_.tick;
}

void Attachment::end_session(Due& due) {
    net::make_room(due, 1);
    due.push_back([weak = listener_, over = session_.end()] {
        if (const auto listener = weak.lock()) listener->session_over(over);
    });
}

/// Whoever has a node in it would have renewed it since.
void Attachment::retire(Moment now, Due& due) {
    const bool idle = conversation_.is_idle() && outflow_.empty() && !outflow_.is_pouring();
    if (!idle || session_.id() == 0 || now - last_used_ <= session_.timeout()) return;
    if (link_.ready()) say_goodbye();
    link_.close();
    end_session(due);
}

void Attachment::attempt_failed(const Failure& failure, Moment now, Due& due) {
    server_ = (server_ + 1) % ensemble_.servers.size();
    // All of them are tried at once, and then again after a while.
    if (++failed_in_row_ % ensemble_.servers.size() == 0) backoff_.failed(now);
    if (hopeless_in_row_ == 0) hopeless_since_ = now;
    hopeless_in_row_ = link_.is_hopeless() ? hopeless_in_row_ + 1 : 0;
    finish(conversation_.attempt_failed(
               timed_out(ensemble_.shown(), ensemble_.request_timeout, failure.sentence)),
           due);
    if (!is_mended_by_time(failure, now)) finish(conversation_.give_up_all(failure), due);
}

/// Not what lasts, nor servers that all say the same nonsense twice. Once may be an
/// accident, and so may twice in a moment.
bool Attachment::is_mended_by_time(const Failure& failure, Moment now) const {
    const bool all_hopeless = hopeless_in_row_ >= 2 * ensemble_.servers.size() &&
                              now - hopeless_since_ >= ensemble_.connect_timeout / 10;
    return !net::is_lasting(failure) && !all_hopeless;
}

/// By something that goes to the leader: a ping would be answered by a follower that is cut off
/// from it.
void Attachment::keep_alive(Moment now) {
    if (!link_.ready() || now < last_kept_alive_ + session_.timeout() / 6) return;
    last_kept_alive_ = now;
    put(catch_up(), now + ensemble_.request_timeout);
}

/// A server that says nothing may be dead, and another one not.
void Attachment::give_up_silent(Moment now, Due& due) {
    const bool silent = now >= waiting_since_ + ensemble_.connect_timeout;
    if (silent && !conversation_.in_flight().empty()) lost(due);
}

void Attachment::expire(Moment now, Due& due) {
    if (conversation_.is_overdue(now)) lost(due);
    finish(conversation_.expire(now), due);
}

/// Goes on where an exception has ended it.
void Attachment::lost(Due& due) {
    torn_ = true;
    link_.close();
    backoff_.failed(BootClock::now());
    server_ = (server_ + 1) % ensemble_.servers.size();
    make_room(due);
    finish(conversation_.lost(), due);
    outflow_.clear();
    torn_ = false;
}

Attachment::Arrival Attachment::read() {
    Arrival arrival;
    if (link_.ready()) arrival.failure = link_.receive(arrival.records);
    return arrival;
}

void Attachment::take(const Arrival& arrival, Due& due) {
    whole([&] {
        make_room(due);
        take_records(arrival, due);
    });
}

void Attachment::take_records(const Arrival& arrival, Due& due) {
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

void Attachment::take_record(const std::string& record, Due& due) {
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

void Attachment::take_reply(Incoming arrived, Due& due) {
    const auto& in_flight = conversation_.in_flight();
    if (in_flight.empty() || in_flight.front()->next_number != arrived.number) return lost(due);
    const Refusal refusal = arrived.reply.refusal;
    // Said of the connection, whatever it answers: the next one will tell what is true.
    if (refusal == Refusal::session_moved || refusal == Refusal::session_expired ||
        refusal == Refusal::connection_loss) {
        return lost(due);
    }
    backoff_.succeeded();
    Request& request = *in_flight.front();
    const Operation& asked = request.volley.operations[request.replies.size()];
    session_.proof().answered(request.sent, last_heard_);
    if (asked.writes && is_of_majority(refusal)) {
        session_.proof().answered_by_majority(request.sent);
    }
    last_kept_alive_ = std::max(last_kept_alive_, request.sent);
    ++request.next_number;
    request.replies.push_back(std::move(arrived.reply));
    if (request.replies.size() < request.volley.operations.size()) return;
    std::vector<Reply> replies = std::move(request.replies);
    make_room(due);
    finish(conversation_.answered(), std::move(replies), due);
}

/// A server that watches again tells all that has ended meanwhile, but not in its order: then it is
/// only said that something has changed.
void Attachment::stir(Event event, Due& due) {
    if (watches_under_way_ > 0) event.what = Event::What::changed;
    in_order_.tell(
        [weak = listener_, session = session_.id(), event] {
            const auto listener = weak.lock();
            if (listener) listener->stirred(session, event.path, event.what);
        },
        due);
    // Only then: should that fail, the next server tells it once more.
    session_.unwatch(event.path);
}

void Attachment::finish(std::unique_ptr<Request>&& request, Request::Outcome result, Due& due) {
    net::make_room(due, 1);
    const bool in_order = request->volley.watches;
    request->answer = {{std::move(result), request->repeated, request->sent}, session_.id()};
    auto tell = net::telling(std::move(request));
    if (in_order) return in_order_.tell(std::move(tell), due);
    due.push_back(std::move(tell));
}

void Attachment::finish(Conversation::GivenUps&& given_up, Due& due) {
    for (auto& [request, why] : given_up) finish(std::move(request), std::move(why), due);
}

bool Attachment::say_goodbye() noexcept {
    try {
        if (!link_.ready()) return false;
        std::string bytes = outflow_.take();
        append_frame(bytes, request_record(next_number_++, close_session()));
        return net::write_all(*link_.socket(), bytes).bytes == bytes.size();
    } catch (const std::exception&) {
        // The session then ends by itself.
        return false;
    }
}

bool Attachment::has_ended() noexcept {
    try {
        std::vector<std::string> records;
        return link_.receive(records).has_value();
    } catch (const std::exception&) {
        return true;
    }
}

}  // namespace holdfast::inline v0::zookeeper
