#include "stores/zookeeper/zookeeper_wire.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include <holdfast/error.hpp>

#include "stores/zookeeper/failures.hpp"

namespace holdfast::inline v0::zookeeper {

using namespace std::chrono_literals;

namespace {

/// How long a client that is closed waits for its session to be.
constexpr auto goodbye_time = 100ms;

/// Clients spread over the servers.
std::size_t any_of(std::size_t count) {
    return static_cast<std::size_t>(BootClock::now().time_since_epoch().count()) % count;
}

Failure timed_out(const Ensemble& ensemble) {
    return {errc::unreachable, Effect::none,
            ensemble.shown() + ": no answer in " +
                std::to_string(ensemble.request_timeout.count()) +
                " ms; check the servers and that a majority of them is up, or raise "
                "request_timeout"};
}

/// Of a node that was read; also when that cannot be known.
bool is_written_since(std::int64_t zxid, const Reply& reply) {
    if (zxid == 0) return false;
    try {
        return reply.content().stat.mzxid > zxid;
    } catch (const Error&) {
        return true;
    }
}

}  // namespace

ZookeeperWire::ZookeeperWire(Ensemble ensemble)
    : ensemble_(std::move(ensemble)),
      bell_(interrupt_descriptor()),
      link_([bell = bell_] { bell.ring(); }),
      server_(any_of(ensemble_.servers.size())) {}

ZookeeperWire::~ZookeeperWire() {
    close();
    say_goodbye();
}

void ZookeeperWire::listen(const std::weak_ptr<Listener>& listener) {
    const std::lock_guard guard(mutex_);
    listener_ = listener;
}

void ZookeeperWire::submit(Volley volley, Answered answered) {
    Lock lock(mutex_);
    const Moment now = BootClock::now();
    const Moment deadline = volley.deadline.value_or(now + ensemble_.request_timeout);
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
bool ZookeeperWire::has_been_idle(Moment now) const {
    return link_.ready() && in_flight_.empty() && now - last_heard_ > session_.timeout() / 2;
}

void ZookeeperWire::watch(const std::string& path, std::int64_t since) {
    std::weak_ptr<Listener> weak;
    {
        const std::lock_guard guard(mutex_);
        if (!session_.watch(path)) return;
        weak = listener_;
    }
    submit({.operations = {read_node(path, Watching::yes)}},
           [this, weak, path, since](const Answer& answer) {
               const bool same = answer.result.ok() && answer.result.value().front().ok() &&
                                 !is_written_since(since, answer.result.value().front());
               const auto listener = same ? nullptr : weak.lock();
               // Whoever listens owns this wire.
               if (!listener || !unwatch(path)) return;
               const bool ended =
                   answer.result.ok() && answer.result.value().front().refusal == Refusal::no_node;
               listener->stirred(path, ended ? Event::What::deleted : Event::What::changed);
           });
}

bool ZookeeperWire::unwatch(const std::string& path) {
    const std::lock_guard guard(mutex_);
    return session_.unwatch(path);
}

Moment ZookeeperWire::counted_from(Moment sent, std::chrono::nanoseconds lease) const {
    const std::lock_guard guard(mutex_);
    return session_.counted_from(sent, lease);
}

bool ZookeeperWire::may_send() const {
    return link_.ready() && !flushing_ && !outbox_.empty() && !start_over_;
}

/// Hands everything in the outbox to the socket, and what others put there meanwhile. The lock is
/// open while the kernel works.
void ZookeeperWire::flush(Lock& lock) {
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

void ZookeeperWire::turn(std::optional<Moment> until, Due& due) {
    std::array<pollfd, 2> polled{};
    {
        Lock lock(mutex_);
        serve(BootClock::now(), due);
        if (may_send()) flush(lock);
        if (!due.empty()) return;
        until = earliest(until);
        polled[0] = {.fd = interrupt_descriptor(), .events = POLLIN, .revents = 0};
        polled[1] = {.fd = link_.descriptor(), .events = link_.wanted(), .revents = 0};
        if (!unsent_.empty() && !flushing_) polled[1].events |= POLLOUT;
    }
    if (poll(polled.data(), polled.size(), poll_timeout(until)) <= 0) return;
    if (polled[0].revents != 0) take_interrupt();
    // Without the lock, which those who send need: the link is opened and closed by whoever leads
    // alone.
    Arrival arrival;
    if (polled[1].revents != 0) arrival = read();
    Lock lock(mutex_);
    take(arrival, due);
    serve(BootClock::now(), due);
    if (may_send() || (!unsent_.empty() && !flushing_ && link_.ready())) flush(lock);
}

/// When the next thing is due by itself.
std::optional<Moment> ZookeeperWire::earliest(std::optional<Moment> until) const {
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

void ZookeeperWire::serve(Moment now, Due& due) {
    if (std::exchange(start_over_, false) && in_flight_.empty()) link_.close();
    connect(now, due);
    give_up_silent(now, due);
    expire(now, due);
    keep_alive(now);
}

/// A session is kept for those who have nodes in it, also while nobody asks for anything.
bool ZookeeperWire::is_needed() const {
    return !outbox_.empty() || session_.id() != 0;
}

void ZookeeperWire::connect(Moment now, Due& due) {
    if (is_needed() && link_.state() == Link::State::down && now >= backoff_.next()) {
        if (is_beyond_its_time(now)) end_session(due);
        link_.open(ensemble_.servers[server_], session_.greeting(), now);
    }
    if (link_.state() == Link::State::down || link_.ready()) return;
    if (const auto failure = link_.advance(now)) return attempt_failed(*failure, now, due);
    if (!link_.ready()) return;
    attached(due);
    // What came with the session's answer has been read with it: poll() would not tell.
    take(read(), due);
}

void ZookeeperWire::attached(Due& due) {
    failed_in_row_ = 0;
    if (session_.answered(link_.session(), link_.opened()) == Session::Fate::over) {
        link_.close();
        return end_session(due);
    }
    last_heard_ = last_kept_alive_ = BootClock::now();
}

/// Nothing was heard for so long that it is over, though no server has said so.
bool ZookeeperWire::is_beyond_its_time(Moment now) const {
    return session_.id() != 0 && now - last_heard_ > session_.timeout() + ensemble_.tick;
}

void ZookeeperWire::end_session(Due& due) {
    due.push_back([weak = listener_, over = session_.end()] {
        if (const auto listener = weak.lock()) listener->session_over(over);
    });
}

void ZookeeperWire::attempt_failed(const Failure& failure, Moment now, Due& due) {
    server_ = (server_ + 1) % ensemble_.servers.size();
    // All of them are tried at once, and then again after a while.
    if (++failed_in_row_ % ensemble_.servers.size() == 0) backoff_.failed(now);
    // What is wrong with the configuration will not be right in a moment.
    const bool hopeless = failure.code == errc::bad_configuration;
    const bool all_tried = failed_in_row_ >= ensemble_.servers.size();
    std::deque<Request> waiting;
    std::swap(waiting, outbox_);
    for (Request& request : waiting) {
        const bool once = request.volley.endurance == Endurance::first_attempt && all_tried;
        if (!hopeless && !once) {
            outbox_.push_back(std::move(request));
            continue;
        }
        Failure told = failure;
        if (request.repeated) told.effect = Effect::unknown;
        finish(std::move(request), std::move(told), session_.id(), due);
    }
}

/// By something that goes through the leader: a ping would be answered by a server that is cut off
/// from it.
void ZookeeperWire::keep_alive(Moment now) {
    if (!link_.ready() || now < last_kept_alive_ + session_.timeout() / 6) return;
    last_kept_alive_ = now;
    outbox_.push_back({.volley = {.operations = {catch_up()}},
                       .answered = [](const Answer&) {},
                       .deadline = now + ensemble_.request_timeout});
}

/// A server that says nothing may be dead, and another one not.
void ZookeeperWire::give_up_silent(Moment now, Due& due) {
    if (in_flight_.empty() || now < waiting_since_ + ensemble_.connect_timeout) return;
    lost(due);
}

void ZookeeperWire::expire(Moment now, Due& due) {
    const auto is_over = [&](const Request& request) { return now >= request.deadline; };
    // Answers come in order: without this one there will be none of the others either.
    if (std::ranges::any_of(in_flight_, is_over)) lost(due);
    for (auto over = std::ranges::find_if(outbox_, is_over); over != outbox_.end();
         over = std::ranges::find_if(outbox_, is_over)) {
        Request request = std::move(*over);
        outbox_.erase(over);
        Failure failure = timed_out(ensemble_);
        failure.effect = request.repeated ? Effect::unknown : Effect::none;
        finish(std::move(request), std::move(failure), session_.id(), due);
    }
}

/// What was under way is sent again on the next connection, before all else, if it may be.
void ZookeeperWire::lost(Due& due) {
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

ZookeeperWire::Arrival ZookeeperWire::read() {
    Arrival arrival;
    if (link_.ready()) arrival.failure = link_.receive(arrival.records);
    return arrival;
}

void ZookeeperWire::take(const Arrival& arrival, Due& due) {
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

void ZookeeperWire::take_record(const std::string& record, Due& due) {
    last_heard_ = waiting_since_ = BootClock::now();
    Incoming arrived = incoming(record);
    session_.saw(arrived.zxid);
    if (arrived.number == event_number) {
        if (auto event = event_of(arrived.reply)) stir(*std::move(event), due);
    } else if (arrived.number == auth_number) {
        if (arrived.reply.ok()) return;
        lost(due);
        attempt_failed(failure_of(arrived.reply.refusal, ensemble_), last_heard_, due);
    } else if (arrived.number != watches_number) {
        take_reply(std::move(arrived), due);
    }
}

void ZookeeperWire::take_reply(Incoming arrived, Due& due) {
    if (in_flight_.empty() || in_flight_.front().next_number != arrived.number) return lost(due);
    const Refusal refusal = arrived.reply.refusal;
    // Said of the connection, whatever it answers: the next one will tell what is true.
    if (refusal == Refusal::session_moved || refusal == Refusal::session_expired ||
        refusal == Refusal::connection_loss) {
        return lost(due);
    }
    backoff_.succeeded();
    Request& request = in_flight_.front();
    const std::size_t index = request.replies.size();
    session_.proof().answered(request.sent, last_heard_);
    if (request.volley.operations[index].through_leader) {
        session_.proof().answered_through_leader(request.sent);
        last_kept_alive_ = std::max(last_kept_alive_, request.sent);
    }
    ++request.next_number;
    request.replies.push_back(std::move(arrived.reply));
    if (request.replies.size() < request.volley.operations.size()) return;
    Request done = std::move(request);
    in_flight_.pop_front();
    std::vector<Reply> replies = std::move(done.replies);
    finish(std::move(done), std::move(replies), session_.id(), due);
}

void ZookeeperWire::stir(Event event, Due& due) {
    session_.unwatch(event.path);
    due.push_back([weak = listener_, event = std::move(event)] {
        if (const auto listener = weak.lock()) listener->stirred(event.path, event.what);
    });
}

void ZookeeperWire::finish(Request request, Result<std::vector<Reply>> result, std::int64_t session,
                           Due& due) {
    due.push_back([answered = std::move(request.answered),
                   answer = Answer{std::move(result), request.repeated, request.sent,
                                   session}]() mutable { answered(std::move(answer)); });
}

/// Ends the session, so that nothing of it stays until its time is up.
void ZookeeperWire::say_goodbye() noexcept {
    try {
        if (!link_.ready()) return;
        std::string bytes = std::exchange(unsent_, {});
        append_frame(bytes, request_record(next_number_, close_session()));
        if (net::write_all(*link_.socket(), bytes).bytes < bytes.size()) return;
        // Closed at once, the connection could end before it is read.
        const Moment end = BootClock::now() + goodbye_time;
        pollfd polled{.fd = link_.descriptor(), .events = POLLIN, .revents = 0};
        std::vector<std::string> records;
        while (BootClock::now() < end && poll(&polled, 1, poll_timeout(end)) > 0) {
            if (link_.receive(records)) return;
        }
    } catch (const std::exception&) {
        // The session then ends by itself.
    }
}

}  // namespace holdfast::inline v0::zookeeper
