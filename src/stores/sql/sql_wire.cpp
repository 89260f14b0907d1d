#include "stores/sql/sql_wire.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "port/sentences.hpp"

namespace holdfast::inline v0::sql {

using namespace std::chrono_literals;

namespace {

/// A server has a process or a thread for each.
constexpr std::size_t most_sessions = 4;
/// How many of those that are not under way yet are looked at, however many there are.
constexpr std::ptrdiff_t farthest_look = 64;
/// How long whoever was woken, and sleeps again by a request of its own, lets its other requests go
/// first.
constexpr auto longest_awake = 5ms;
/// How long a request that met a deadlock, or a server that starts, is held back.
constexpr auto passing_trouble = 5ms;

/// Empty of a request for several, or for none: those are in no order.
std::string_view resource_of(const Call& call) {
    if (call.rows.size() != 1 || call.rows.front().empty()) return {};
    return call.rows.front().front();
}

/// Whoever leads may be asleep, and polls for what was wanted before: it is to poll for room now,
/// or what it would wake up for has come already.
bool must_be_served(const Session& session) {
    return (session.wanted() & POLLOUT) != 0 || session.state() != Session::State::busy ||
           session.replied();
}

Failure too_slow_to_open(const Address& address) {
    return {errc::unreachable, Effect::none,
            address.shown() + ": no connection in " +
                std::to_string(address.connect_timeout.count()) +
                " ms; check the server, or raise connect_timeout"};
}

}  // namespace

SqlWire::SqlWire(Address address, std::shared_ptr<const Dialect> dialect)
    : address_(std::move(address)), dialect_(std::move(dialect)), bell_(interrupt_descriptor()) {}

SqlWire::~SqlWire() {
    close();
}

void SqlWire::submit(Call call, Answered answered) {
    auto request = std::make_unique<Request>(Request{
        .call = std::move(call),
        .answered = std::move(answered),
        .deadline = BootClock::now() + address_.request_timeout,
    });
    const std::lock_guard guard(mutex_);
    outbox_.push_back(std::move(request));
    hand_out();
    // Whoever leads may be asleep over connections that are all busy, or not there.
    if (!outbox_.empty()) bell_.ring();
}

void SqlWire::listen(const std::weak_ptr<Listener>& listener) {
    const std::lock_guard guard(mutex_);
    listener_ = listener;
    if (!std::exchange(wants_pushes_, true)) bell_.ring();
}

void SqlWire::turn(std::optional<Moment> until, Due& due) {
    {
        const std::lock_guard guard(mutex_);
        serve(BootClock::now(), due);
        if (!due.empty()) return;
        until = earliest(until);
        list_descriptors();
    }
    if (poll(polled_.data(), polled_.size(), poll_timeout(until)) <= 0) return;
    if (polled_[0].revents != 0) take_interrupt();
    const std::lock_guard guard(mutex_);
    serve(BootClock::now(), due);
}

/// All connections, idle ones too: a request that another thread hands to one wakes whoever leads
/// with its answer.
void SqlWire::list_descriptors() {
    polled_.assign(1, {.fd = interrupt_descriptor(), .events = POLLIN, .revents = 0});
    const auto add = [&](const Session& session) {
        polled_.push_back({.fd = session.descriptor(), .events = session.wanted(), .revents = 0});
    };
    for (const Slot& slot : slots_) add(*slot.session);
    if (pushes_) add(*pushes_->session);
}

void SqlWire::serve(Moment now, Due& due) {
    for (Slot& slot : slots_) serve_slot(slot, now, due);
    std::erase_if(slots_, [](const Slot& slot) { return !slot.session; });
    if (wants_pushes_) serve_pushes(now, due);
    expire(now, due);
    hand_out();
    open_more(now);
}

void SqlWire::serve_slot(Slot& slot, Moment now, Due& due) {
    Session& session = *slot.session;
    const bool opening = session.state() == Session::State::opening;
    session.advance();
    if (opening && session.state() == Session::State::idle) backoff_.succeeded();
    if (auto reply = session.take_reply()) take_reply(slot, *std::move(reply), due);
    if (!slot.session) return;
    const bool too_slow = session.state() == Session::State::opening && now >= slot.open_until;
    if (session.state() == Session::State::broken) {
        broken(slot, now, due);
    } else if (too_slow) {
        backoff_.failed(now);
        const Failure met = session.trouble();
        slot.session.reset();
        attempt_failed(met.sentence.empty() ? too_slow_to_open(address_) : met, due);
    }
}

void SqlWire::take_reply(Slot& slot, Reply reply, Due& due) {
    if (!slot.request) return;
    if (std::exchange(slot.making_schema, false)) {
        if (!reply.error) return slot.session->ask(slot.request->call);
        slot.request->schema_made = true;
    }
    if (reply.error) return refused(slot, *reply.error, due);
    finish(std::move(slot.request), std::move(reply), due);
}

void SqlWire::refused(Slot& slot, const ServerError& error, Due& due) {
    auto meaning = dialect_->meaning_of(error);
    Request& request = *slot.request;
    switch (meaning.remedy) {
        case Dialect::Remedy::schema:
            if (std::exchange(request.schema_made, true)) break;
            slot.making_schema = true;
            return slot.session->run(dialect_->schema());
        case Dialect::Remedy::repeat:
            request.repeated = true;
            [[fallthrough]];
        case Dialect::Remedy::again:
            held_back_until_ = BootClock::now() + passing_trouble;
            request.trouble = std::move(meaning.failure);
            outbox_.push_front(std::move(slot.request));
            return;
        case Dialect::Remedy::reconnect:
            slot.session.reset();
            break;
        case Dialect::Remedy::none:
            break;
    }
    if (request.repeated) meaning.failure.effect = Effect::unknown;
    finish(std::move(slot.request), std::move(meaning.failure), due);
}

/// What was under way is sent again on another connection, before all else.
void SqlWire::broken(Slot& slot, Moment now, Due& due) {
    const Failure trouble = slot.session->trouble();
    slot.session.reset();
    // Several break together when a server ends: that is one failure.
    if (backoff_.next() <= now) backoff_.failed(now);
    if (!slot.request) return attempt_failed(trouble, due);
    slot.making_schema = false;
    slot.request->repeated = true;
    slot.request->trouble = trouble;
    outbox_.push_front(std::move(slot.request));
}

void SqlWire::attempt_failed(const Failure& failure, Due& due) {
    // What is wrong with the configuration will not be right in a moment.
    const bool hopeless = failure.code == errc::bad_configuration;
    for (auto& request : std::exchange(outbox_, {})) {
        if (hopeless) {
            Failure told = failure;
            told.effect = request->repeated ? Effect::unknown : Effect::none;
            finish(std::move(request), std::move(told), due);
        } else {
            request->trouble = failure;
            outbox_.push_back(std::move(request));
        }
    }
}

/// The first for whose resource nothing is under way. They would wait for each other in the server
/// all the same, by the resource's row, and on several connections in any order.
SqlWire::Requests::iterator SqlWire::next_to_go() {
    const auto is_under_way = [&](const std::unique_ptr<Request>& request) {
        const std::string_view resource = resource_of(request->call);
        return !resource.empty() && std::ranges::any_of(slots_, [&](const Slot& slot) {
            return slot.request && resource_of(slot.request->call) == resource;
        });
    };
    const auto last = outbox_.begin() + std::min(std::ssize(outbox_), farthest_look);
    const auto found = std::find_if_not(outbox_.begin(), last, is_under_way);
    return found == last ? outbox_.end() : found;
}

void SqlWire::hand_out() {
    if (held_back_until_ != Moment{}) {
        if (BootClock::now() < held_back_until_) return;
        held_back_until_ = {};
    }
    for (Slot& slot : slots_) {
        if (!slot.session || !slot.idle()) continue;
        const auto next = next_to_go();
        if (next == outbox_.end()) return;
        slot.request = std::move(*next);
        outbox_.erase(next);
        slot.session->ask(slot.request->call);
        if (must_be_served(*slot.session)) bell_.ring();
    }
}

/// One at a time, when all others are busy.
void SqlWire::open_more(Moment now) {
    const bool opening = std::ranges::any_of(
        slots_, [](const Slot& slot) { return slot.session->state() == Session::State::opening; });
    if (opening || slots_.size() == most_sessions || now < backoff_.next()) return;
    if (held_back_until_ != Moment{} || next_to_go() == outbox_.end()) return;
    slots_.push_back(
        {.session = dialect_->open(Dialect::Purpose::requests, [bell = bell_] { bell.ring(); }),
         .open_until = now + address_.connect_timeout});
}

void SqlWire::expire(Moment now, Due& due) {
    const auto fail = [&](std::unique_ptr<Request> request, Effect effect) {
        Failure failure =
            request->trouble.value_or(timed_out(address_.shown(), address_.request_timeout));
        failure.effect = effect;
        finish(std::move(request), std::move(failure), due);
    };
    for (Slot& slot : slots_) {
        if (!slot.request || now < slot.request->deadline) continue;
        slot.request->trouble.reset();
        fail(std::move(slot.request), Effect::unknown);
        slot.session.reset();
    }
    std::erase_if(slots_, [](const Slot& slot) { return !slot.session; });
    Requests waiting;
    for (auto& request : std::exchange(outbox_, {})) {
        if (now < request->deadline) {
            waiting.push_back(std::move(request));
            continue;
        }
        const Effect effect = request->repeated ? Effect::unknown : Effect::none;
        fail(std::move(request), effect);
    }
    outbox_ = std::move(waiting);
}

void SqlWire::finish(std::unique_ptr<Request> request, Result<Reply> result, Due& due) {
    request->answer = Answer{.result = std::move(result), .repeated = request->repeated};
    due.push_back(
        [request = std::move(request)] { request->answered(*std::move(request->answer)); });
}

void SqlWire::serve_pushes(Moment now, Due& due) {
    if (!pushes_) {
        if (now < pushes_backoff_.next()) return;
        pushes_ = Slot{
            .session = dialect_->open(Dialect::Purpose::pushes, [bell = bell_] { bell.ring(); }),
            .open_until = now + address_.connect_timeout};
    }
    Session& session = *pushes_->session;
    advance_pushes(now, due);
    const bool opening = session.state() == Session::State::opening;
    if (session.state() == Session::State::broken || (opening && now >= pushes_->open_until)) {
        return pushes_lost(now, due);
    }
    if (!opening && listening_ == 0) {
        pushes_backoff_.succeeded();
        listening_ = ++periods_;
        missed(due);
    }
    for (std::string& message : session.take_pushes()) {
        due.push_back([weak = listener_, text = std::move(message)] {
            if (const auto listener = weak.lock()) listener->pushed(text);
        });
    }
}

/// What was told is mostly answered by a request, and somebody waits for what comes of that one.
void SqlWire::advance_pushes(Moment now, const Due& due) {
    Session& session = *pushes_->session;
    if (session.can_wait()) {
        if (!listen_again_by_) listen_again_by_ = now + longest_awake;
        const bool busy = !due.empty() || std::ranges::any_of(slots_, [](const Slot& slot) {
            return slot.request != nullptr;
        });
        if (busy && now < *listen_again_by_) return;
    }
    listen_again_by_.reset();
    session.advance();
}

/// As long as nothing is heard, each attempt to connect is also a moment to look.
void SqlWire::pushes_lost(Moment now, Due& due) {
    pushes_.reset();
    listening_ = 0;
    pushes_backoff_.failed(now);
    missed(due);
}

void SqlWire::missed(Due& due) {
    due.push_back([weak = listener_] {
        if (const auto listener = weak.lock()) listener->missed();
    });
}

/// When the next thing is due by itself.
std::optional<Moment> SqlWire::earliest(std::optional<Moment> until) const {
    Moment first = until.value_or(Moment::max());
    const auto also = [&](Moment moment) { first = std::min(first, moment); };
    const auto of_slot = [&](const Slot& slot) {
        if (slot.session->state() == Session::State::opening) also(slot.open_until);
        // It may be so from the start, and there is nothing to poll for then.
        if (slot.session->state() == Session::State::broken) also(BootClock::now());
        if (const auto due = slot.session->due()) also(*due);
        if (slot.request) also(slot.request->deadline);
    };
    for (const Slot& slot : slots_) of_slot(slot);
    for (const auto& request : outbox_) also(request->deadline);
    if (!outbox_.empty()) {
        if (held_back_until_ != Moment{}) also(held_back_until_);
        // In the past, it has been made use of.
        if (backoff_.next() > BootClock::now()) also(backoff_.next());
    }
    if (pushes_) of_slot(*pushes_);
    if (listen_again_by_) also(*listen_again_by_);
    if (wants_pushes_ && !pushes_) also(pushes_backoff_.next());
    if (first == Moment::max()) return std::nullopt;
    return first;
}

}  // namespace holdfast::inline v0::sql
