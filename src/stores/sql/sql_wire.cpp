#include "stores/sql/sql_wire.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <string_view>
#include <utility>

#include "port/sentences.hpp"
#include "stores/sql/failures.hpp"

namespace holdfast::inline v0::sql {

using namespace std::chrono_literals;

namespace {

/// A server has a process or a thread for each.
constexpr std::size_t most_sessions = 5;
/// The last one is kept for renewals, and the one before it for them and for what gives back: all
/// may wait in the server for long, for what somebody has locked.
constexpr std::size_t most_but_renewals = most_sessions - 1;
constexpr std::size_t most_not_urgent = most_but_renewals - 1;
/// How long whoever was woken, and sleeps again by a request of its own, lets its other requests go
/// first.
constexpr auto longest_awake = 5ms;
/// How long the first use of a database is waited for, which makes tables and procedures: each of
/// them waits for the disk.
constexpr auto time_for_schema = 30s;
/// How long a request that met a deadlock, or a server that starts, is held back.
constexpr auto passing_trouble = 5ms;

/// How long it takes to meet what somebody has locked: whoever waits for that again is in the way
/// of others.
constexpr auto long_wait = 100ms;

/// How long a connection that forgets is taken for one that is free in a moment.
constexpr auto time_to_forget = 50ms;

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

}  // namespace

SqlWire::SqlWire(Address address, std::shared_ptr<const Dialect> dialect)
    : address_(std::move(address)),
      dialect_(std::move(dialect)),
      bell_(interrupt_descriptor()),
      outbox_(address_.shown(), address_.request_timeout) {}

SqlWire::~SqlWire() {
    close();
}

void SqlWire::submit(Call call, Answered answered) {
    auto request = std::make_unique<Request>(std::move(call), std::move(answered),
                                             BootClock::now() + address_.request_timeout);
    const std::lock_guard guard(mutex_);
    outbox_.submit(std::move(request));
    // Else nothing has changed for anybody, and there may be many to look through.
    if (!must_wait(*outbox_.waiting().back())) hand_out();
    // Whoever leads may be asleep over connections that are all busy, or not there.
    if (!outbox_.waiting().empty()) bell_.ring();
}

void SqlWire::listen(const std::weak_ptr<Listener>& listener) {
    const std::lock_guard guard(mutex_);
    if (listening_.want(listener)) bell_.ring();
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

/// For all that may be told, before anything is done.
void SqlWire::make_room(Due& due) const {
    net::make_room(due, outbox_.waiting().size() + most_sessions);
}

void SqlWire::serve(Moment now, Due& due) {
    make_room(due);
    for (Slot& slot : slots_) serve_slot(slot, now, due);
    std::erase_if(slots_, [](const Slot& slot) { return !slot.session; });
    if (listening_.wanted()) serve_pushes(now, due);
    expire(now, due);
    hand_out();
    open_more(now);
    forget_some();
}

/// What somebody waits for goes first. Nobody waits for this: it is never sent again.
void SqlWire::forget_some() {
    const bool at_leisure = outbox_.waiting().empty() && !outbox_.is_held_back() &&
                            std::ranges::any_of(slots_, &Slot::idle);
    if (!at_leisure || !forgetting_.is_due()) return;
    const Moment now = BootClock::now();
    auto request = std::make_unique<Request>(
        forgetting_.start(), [](const Answer&) {}, now + address_.request_timeout);
    request->forgets = true;
    outbox_.submit(std::move(request));
    hand_out();
}

void SqlWire::forgot(Slot& slot, const Result<Reply>& result) {
    forgetting_.ended(result);
    slot.request.reset();
}

void SqlWire::serve_slot(Slot& slot, Moment now, Due& due) {
    if (slot.torn) return give_back(slot, now);
    if (!slot.session) return;  // an exception came before it was taken out
    try {
        go_on(slot, now, due);
    } catch (...) {
        slot.torn = true;
        throw;
    }
}

/// What is known of its connection is not whole.
void SqlWire::give_back(Slot& slot, Moment now) {
    if (slot.request && slot.request->forgets) forgetting_.ended(Failure{});
    if (slot.request && !slot.request->forgets) {
        slot.request->lost();
        outbox_.send_again(std::move(slot.request));
    }
    slot.request.reset();
    drop(slot, now);
}

void SqlWire::go_on(Slot& slot, Moment now, Due& due) {
    Session& session = *slot.session;
    const bool opening = session.state() == Session::State::opening;
    session.advance();
    if (opening && session.state() == Session::State::idle) outbox_.connected();
    if (auto reply = session.take_reply()) take_reply(slot, *std::move(reply), due);
    if (!slot.session) return;
    const bool too_slow = session.state() == Session::State::opening && now >= slot.open_until;
    if (session.state() == Session::State::broken) {
        broken(slot, now, due);
    } else if (too_slow) {
        backoff_.failed(now);
        Failure met = session.trouble();
        if (met.sentence.empty()) met = late_connection(address_);
        slot.session.reset();
        net::finish(outbox_.attempt_failed(std::move(met)), due);
    }
}

void SqlWire::take_reply(Slot& slot, Reply reply, Due& due) {
    if (!slot.request) return;
    if (std::exchange(slot.making_schema, false)) {
        if (!reply.error) {
            slot.request->goes_out(BootClock::now());
            return slot.session->ask(slot.request->call);
        }
        slot.request->schema_made = true;
    }
    if (reply.error) return refused(slot, *reply.error, due);
    // That it lets us in says little of a server that then stands still, or sends us away.
    backoff_.succeeded();
    if (slot.request->forgets) return forgot(slot, std::move(reply));
    if (slot.request->call.verb == "leave") forgetting_.left();
    net::finish(std::move(slot.request), std::move(reply), due);
}

void SqlWire::refused(Slot& slot, const ServerError& error, Due& due) {
    auto meaning = dialect_->meaning_of(error);
    Request& request = *slot.request;
    const Moment now = BootClock::now();
    if (meaning.remedy == Dialect::Remedy::reconnect) leave_server(slot, now, due);
    if (request.renews_many() && meaning.remedy != Dialect::Remedy::reconnect &&
        meaning.remedy != Dialect::Remedy::schema) {
        // One of them may be why. Whoever renews asks again for fewer of them, but not if it took
        // this for a request that was not sent.
        meaning.remedy = Dialect::Remedy::none;
        meaning.failure.effect = Effect::unknown;
    }
    if (request.forgets) return forgot(slot, std::move(meaning.failure));
    switch (meaning.remedy) {
        case Dialect::Remedy::schema:
            if (std::exchange(request.schema_made, true)) break;
            slot.making_schema = true;
            request.deadline = std::max(request.deadline, now + time_for_schema);
            return slot.session->run(dialect_->schema());
        case Dialect::Remedy::repeat:
            request.lost();
            [[fallthrough]];
        case Dialect::Remedy::again:
            // The next time it would not be heard of before its own is up: so this is why.
            if (now + (now - request.sent) >= request.deadline) break;
            outbox_.hold_back(now + passing_trouble);
            request.met = meaning.failure.sentence;
            request.trouble = std::move(meaning.failure);
            request.waited_in_vain = now - request.sent >= long_wait;
            return outbox_.send_again(std::move(slot.request));
        case Dialect::Remedy::reconnect:
        case Dialect::Remedy::none:
            break;
    }
    meaning.failure = request.refused(std::move(meaning.failure));
    net::finish(std::move(slot.request), std::move(meaning.failure), due);
}

/// Another one is in its place, perhaps: whoever listens here hears nothing of what is done there.
void SqlWire::leave_server(Slot& slot, Moment now, Due& due) {
    if (pushes_) pushes_lost(now, due);
    for (Slot& other : slots_) {
        if (other.session && other.idle()) other.session.reset();
    }
    drop(slot, now);
}

/// The next one is made after a pause.
void SqlWire::drop(Slot& slot, Moment now) {
    slot.session.reset();
    // Several break together when a server ends: that is one failure.
    if (backoff_.next() <= now) backoff_.failed(now);
}

/// What was under way is sent again on another connection.
void SqlWire::broken(Slot& slot, Moment now, Due& due) {
    Failure trouble = slot.session->trouble();
    if (!slot.request) {
        drop(slot, now);
        return net::finish(outbox_.attempt_failed(std::move(trouble)), due);
    }
    slot.making_schema = false;
    if (slot.request->forgets) {
        forgot(slot, std::move(trouble));
    } else {
        slot.request->lost();
        slot.request->met = trouble.sentence;
        slot.request->trouble = std::move(trouble);
        outbox_.send_again(std::move(slot.request));
    }
    drop(slot, now);
}

/// While something is under way for its resource: they would wait for each other in the server all
/// the same, by the resource's row, and on several connections in any order. And for a connection.
bool SqlWire::must_wait(const Request& request) const {
    if (request.renews) return false;
    const std::string_view resource = resource_of(request.call);
    std::size_t others = 0;
    std::size_t not_urgent = 0;
    for (const Slot& slot : slots_) {
        if (!slot.request || slot.request->renews) continue;
        if (!resource.empty() && resource_of(slot.request->call) == resource) return true;
        ++others;
        if (!slot.request->is_urgent) ++not_urgent;
    }
    return others >= most_but_renewals || (!request.is_urgent && not_urgent >= most_not_urgent);
}

/// Of those that need not wait, the first that is urgent, else the first. However many want one
/// resource, they delay nobody who wants another. Nor do those that met what somebody has locked,
/// and would wait for that again, delay anybody else: of the urgent ones those that met nothing go
/// before them, and so do others that want another resource.
SqlWire::Outbox::Requests::const_iterator SqlWire::next_to_go() const {
    const auto& waiting = outbox_.waiting();
    const auto rank = [](const Request& one) {
        if (one.is_urgent) return one.met.empty() ? 0 : 1;
        return one.waited_in_vain ? 3 : 2;
    };
    auto next = waiting.end();
    for (auto one = waiting.begin(); one != waiting.end(); ++one) {
        const bool counts = next == waiting.end() || rank(**one) < rank(**next);
        if (!counts || must_wait(**one)) continue;
        if (!(*one)->is_urgent && is_behind_one_in_vain(one)) continue;
        next = one;
        if (rank(**next) == 0) break;
    }
    return next;
}

/// One that was made earlier and wants the same resource: their order is that of the line.
bool SqlWire::is_behind_one_in_vain(const Outbox::Requests::const_iterator& one) const {
    const std::string_view resource = resource_of((*one)->call);
    if (resource.empty()) return false;
    return std::any_of(outbox_.waiting().begin(), one, [&](const auto& earlier) {
        return earlier->waited_in_vain && resource_of(earlier->call) == resource;
    });
}

void SqlWire::hand_out() {
    const Moment now = BootClock::now();
    outbox_.go_on(now);
    if (outbox_.is_held_back()) return;
    for (Slot& slot : slots_) {
        if (!slot.session || !slot.idle()) continue;
        const auto next = next_to_go();
        if (next == outbox_.waiting().end()) return;
        // There is a connection: whoever waits on does not do so for want of one.
        outbox_.connected();
        slot.request = outbox_.take(next, now);
        ask(slot);
        if (slot.torn || must_be_served(*slot.session)) bell_.ring();
    }
}

/// Whoever made the request need not know that this failed: it is sent again by whoever leads.
void SqlWire::ask(Slot& slot) {
    try {
        slot.session->ask(slot.request->call);
    } catch (const std::exception&) {
        slot.torn = true;
    }
}

/// One at a time, when all others are busy.
void SqlWire::open_more(Moment now) {
    const bool opening = std::ranges::any_of(
        slots_, [](const Slot& slot) { return slot.session->state() == Session::State::opening; });
    if (opening || slots_.size() == most_sessions || now < backoff_.next()) return;
    if (outbox_.is_held_back() || next_to_go() == outbox_.waiting().end()) return;
    const bool free_soon = std::ranges::any_of(slots_, [&](const Slot& slot) {
        return slot.request && slot.request->forgets && now < slot.request->sent + time_to_forget;
    });
    if (free_soon) return;
    slots_.push_back(
        {.session = dialect_->open(Dialect::Purpose::requests, [bell = bell_] { bell.ring(); }),
         .open_until = now + address_.connect_timeout});
}

void SqlWire::expire(Moment now, Due& due) {
    for (Slot& slot : slots_) {
        if (!slot.request || !slot.request->is_overdue(now)) continue;
        if (slot.request->forgets) {
            forgot(slot, outbox_.out_of_time());
        } else {
            slot.request->lost();
            Failure why = slot.request->given_up(
                timed_out(address_.shown(), address_.request_timeout, slot.request->met));
            net::finish(std::move(slot.request), std::move(why), due);
        }
        // Its answer, should there be one, would be taken for that of the next. In the server it
        // may go on: without a pause these would be more and more.
        drop(slot, now);
    }
    std::erase_if(slots_, [](const Slot& slot) { return !slot.session; });
    // For those that wait: once they are taken out, they are nowhere else.
    make_room(due);
    net::finish(outbox_.expire(now), due);
}

void SqlWire::serve_pushes(Moment now, Due& due) {
    if (!pushes_) {
        if (now < listening_.next_attempt()) return;
        pushes_ = Slot{
            .session = dialect_->open(Dialect::Purpose::pushes, [bell = bell_] { bell.ring(); }),
            .open_until = now + address_.connect_timeout};
    }
    if (pushes_->torn) return pushes_lost(now, due);
    try {
        take_pushes(now, due);
    } catch (...) {
        // What was not told was not heard.
        pushes_->torn = true;
        throw;
    }
}

void SqlWire::take_pushes(Moment now, Due& due) {
    Session& session = *pushes_->session;
    advance_pushes(now, due);
    const bool opening = session.state() == Session::State::opening;
    if (session.state() == Session::State::broken || (opening && now >= pushes_->open_until)) {
        return pushes_lost(now, due);
    }
    if (!opening && listening() == 0) listening_.began(due);
    for (std::string& message : session.take_pushes()) {
        listening_.heard(std::move(message), due);
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

void SqlWire::pushes_lost(Moment now, Due& due) {
    listening_.lost(now, due);
    pushes_.reset();
}

/// When the next thing is due by itself.
std::optional<Moment> SqlWire::earliest(std::optional<Moment> until) const {
    Moment first = until.value_or(Moment::max());
    const auto also = [&](Moment moment) { first = std::min(first, moment); };
    const auto of_slot = [&](const Slot& slot) {
        if (slot.torn) also(BootClock::now());
        if (slot.session->state() == Session::State::opening) also(slot.open_until);
        // It may be so from the start, and there is nothing to poll for then.
        if (slot.session->state() == Session::State::broken) also(BootClock::now());
        if (const auto due = slot.session->due()) also(*due);
        if (!slot.request) return;
        also(slot.request->deadline);
        const Moment slow = slot.request->sent + time_to_forget;
        if (slot.request->forgets && slow > BootClock::now()) also(slow);
    };
    for (const Slot& slot : slots_) of_slot(slot);
    also(outbox_.earliest());
    // In the past, it has been made use of.
    if (!outbox_.waiting().empty() && backoff_.next() > BootClock::now()) also(backoff_.next());
    if (pushes_) of_slot(*pushes_);
    if (listen_again_by_) also(*listen_again_by_);
    if (listening_.wanted() && !pushes_) also(listening_.next_attempt());
    if (first == Moment::max()) return std::nullopt;
    return first;
}

}  // namespace holdfast::inline v0::sql
