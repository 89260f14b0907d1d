#include "stores/zookeeper/zookeeper_wire.hpp"

#include <algorithm>

#include <holdfast/error.hpp>

#include "stores/zookeeper/failures.hpp"

namespace holdfast::inline v0::zookeeper {

using namespace std::chrono_literals;

namespace {

/// How long a client that is closed waits for its sessions to be.
constexpr auto goodbye_time = 100ms;
/// What a client is opened with: longer than servers grant, so that they tell what they do.
constexpr auto first_lease = 24h;

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
    : ensemble_(std::move(ensemble)), bell_(interrupt_descriptor()) {}

ZookeeperWire::~ZookeeperWire() {
    close();
    say_goodbye();
}

void ZookeeperWire::listen(const std::weak_ptr<Listener>& listener) {
    const std::lock_guard guard(mutex_);
    listener_ = listener;
}

Attachment& ZookeeperWire::attachment(Term term) {
    if (Attachment* const found = find(term)) return *found;
    auto made = std::make_unique<Attachment>(ensemble_, term, bell_, listener_);
    return *attachments_.emplace(term, std::move(made)).first->second;
}

Attachment* ZookeeperWire::find(Term term) const {
    const auto found = attachments_.find(term);
    return found == attachments_.end() ? nullptr : found->second.get();
}

/// One that asked for more than the servers grant serves all that could have no longer one. What
/// one server has shortened, another one may grant.
Term ZookeeperWire::term_for(Term asked) const {
    const std::lock_guard guard(mutex_);
    if (find(asked) != nullptr) return asked;
    const auto most = limit();
    for (const auto& [term, one] : attachments_) {
        if (one->session().id() == 0) continue;
        const auto granted = one->session().timeout();
        if (granted < term && granted <= asked && granted >= most) return term;
    }
    return asked;
}

/// The most that was ever granted to one that asked for more; 0: nobody was told.
std::chrono::milliseconds ZookeeperWire::limit() const {
    std::chrono::milliseconds most{};
    for (const auto& [term, one] : attachments_) most = std::max(most, one->session().limit());
    return most;
}

void ZookeeperWire::submit(Term term, Volley volley, Answered answered) {
    Lock lock(mutex_);
    attachment(term).submit(lock, std::move(volley), std::move(answered));
}

std::int64_t ZookeeperWire::session(Term term) const {
    const std::lock_guard guard(mutex_);
    const Attachment* const found = find(term);
    return found == nullptr ? 0 : found->session().id();
}

std::optional<Term> ZookeeperWire::term_of(std::int64_t session) const {
    const std::lock_guard guard(mutex_);
    const auto found = std::ranges::find_if(
        attachments_, [&](const auto& one) { return one.second->session().id() == session; });
    if (session == 0 || found == attachments_.end()) return std::nullopt;
    return found->first;
}

bool ZookeeperWire::is_past(std::int64_t session) const {
    const std::lock_guard guard(mutex_);
    return std::ranges::any_of(
        attachments_, [&](const auto& one) { return one.second->session().is_past(session); });
}

std::chrono::milliseconds ZookeeperWire::session_timeout(Term term) const {
    const std::lock_guard guard(mutex_);
    const Attachment* const found = find(term);
    return found == nullptr ? 0ms : found->session().timeout();
}

std::chrono::milliseconds ZookeeperWire::longest_session() const {
    const std::lock_guard guard(mutex_);
    const auto most = limit();
    return most > 0ms ? std::min<std::chrono::milliseconds>(most, 24h) : 24h;
}

Term ZookeeperWire::any_term() const {
    const std::lock_guard guard(mutex_);
    const auto connected = std::ranges::find_if(
        attachments_, [](const auto& one) { return one.second->is_connected(); });
    return connected == attachments_.end() ? ensemble_.term_of(first_lease) : connected->first;
}

Moment ZookeeperWire::counted_from(Term term, Moment sent, std::chrono::nanoseconds lease) const {
    const std::lock_guard guard(mutex_);
    const Attachment* const found = find(term);
    return found == nullptr ? Moment{} : found->session().counted_from(sent, lease);
}

void ZookeeperWire::watch(Term term, const std::vector<std::string>& paths, std::int64_t since) {
    if (paths.empty()) return;
    const auto asked = std::make_shared<std::vector<std::string>>();
    // In one with the request: what is watched by then is asked for before all that is watched
    // later, by whatever thread.
    Lock lock(mutex_);
    Attachment& one = attachment(term);
    try {
        Volley volley{.operations = {}, .watches = true};
        for (const std::string& path : paths) {
            asked->push_back(path);
            if (one.session().watch(path)) {
                volley.operations.push_back(read_node(path, Watching::yes));
            } else {
                asked->pop_back();
            }
        }
        if (asked->empty()) return;
        one.submit(lock, std::move(volley),
                   [this, weak = listener_, term, asked, since](const Answer& answer) {
                       // Whoever listens owns this wire.
                       const auto listener = weak.lock();
                       if (listener) watches_answered(*listener, term, *asked, since, answer);
                   });
    } catch (...) {
        // Nobody asks for them: whoever waits for one of them next is to.
        for (const std::string& path : *asked) one.session().unwatch(path);
        throw;
    }
}

void ZookeeperWire::watches_answered(Listener& listener, Term term,
                                     const std::vector<std::string>& asked, std::int64_t since,
                                     const Answer& answer) {
    for (std::size_t i = 0; i < asked.size(); ++i) {
        if (answer.result.ok()) {
            watch_answered(term, asked[i], since, answer.result.value()[i], answer.session);
        } else if (unwatch(term, asked[i], WatchLeft::none)) {
            listener.stirred(answer.session, asked[i], Event::What::changed);
        }
    }
}

void ZookeeperWire::watch_answered(Term term, const std::string& path, std::int64_t since,
                                   const Reply& reply, std::int64_t session) {
    const auto listener = listener_.lock();
    if (!listener) return;
    if (reply.ok() && !is_written_since(since, reply)) return listener->watched(session, path);
    if (reply.refusal == Refusal::no_auth) {
        listener->unheard(session, path);
        return watch_unreadable(term, path);
    }
    const bool ended = reply.refusal == Refusal::no_node;
    // Whatever else is refused would be so again: whoever waits looks with its renewals.
    if (!unwatch(term, path, WatchLeft::none) || tells_nothing(reply.refusal)) return;
    listener->stirred(session, path, ended ? Event::What::deleted : Event::What::changed);
}

/// By a look, which needs no right. Newer servers tell nothing of it all the same.
void ZookeeperWire::watch_unreadable(Term term, const std::string& path) {
    submit(term, {.operations = {look_at_node(path, Watching::yes)}, .watches = true},
           [this, weak = listener_, term, path](const Answer& answer) {
               const auto listener = weak.lock();
               if (!listener) return;
               const bool lost = !answer.result.ok();
               const bool ended =
                   !lost && answer.result.value().front().refusal == Refusal::no_node;
               if (!lost && !ended) return;
               if (!unwatch(term, path, ended ? WatchLeft::one : WatchLeft::none)) return;
               listener->stirred(answer.session, path,
                                 ended ? Event::What::deleted : Event::What::changed);
           });
}

/// A node that is not there is watched all the same, for one that may come.
bool ZookeeperWire::unwatch(Term term, const std::string& path, WatchLeft left) {
    Lock lock(mutex_);
    Attachment& one = attachment(term);
    if (!one.session().unwatch(path)) return false;
    if (left == WatchLeft::one) {
        one.submit(lock, {.operations = {forget_watch(path)}}, [](const Answer&) {});
    }
    return true;
}

void ZookeeperWire::turn(std::optional<Moment> until, Due& due) {
    until = prepare(until, due);
    if (!due.empty()) return;
    if (poll(polled_.data(), polled_.size(), poll_timeout(until)) <= 0) return;
    if (polled_[0].revents != 0) take_interrupt();
    // Without the lock, which those who send need.
    for (std::size_t i = 0; i < polled_for_.size(); ++i) {
        if (polled_[i + 1].revents == 0) continue;
        auto& arrived = arrived_.emplace_back(polled_for_[i], Attachment::Arrival{});
        arrived.second = polled_for_[i]->read();
    }
    Lock lock(mutex_);
    take_arrived(due);
    for (const auto& [term, one] : attachments_) one->serve(lock, due);
}

/// One that fails loses its connection, and with that what has come by it; what came by others is
/// taken by the next turn.
void ZookeeperWire::take_arrived(Due& due) {
    while (!arrived_.empty()) {
        const auto [one, arrival] = std::move(arrived_.front());
        arrived_.pop_front();
        one->take(arrival, due);
    }
}

/// Until when there is nothing to do but to read what is polled for.
std::optional<Moment> ZookeeperWire::prepare(std::optional<Moment> until, Due& due) {
    Lock lock(mutex_);
    take_arrived(due);
    polled_.assign(1, {.fd = interrupt_descriptor(), .events = POLLIN, .revents = 0});
    polled_for_.clear();
    for (const auto& [term, one] : attachments_) one->serve(lock, due);
    for (const auto& [term, one] : attachments_) {
        until = one->earliest(until);
        polled_.push_back(one->awaited());
        polled_for_.push_back(one.get());
    }
    return until;
}

/// To all of them first, and then waits for all together.
void ZookeeperWire::say_goodbye() noexcept {
    std::vector<Attachment*> open;
    for (const auto& [term, one] : attachments_) {
        if (one->say_goodbye()) open.push_back(one.get());
    }
    // Closed at once, a connection could end before it is read.
    const Moment end = BootClock::now() + goodbye_time;
    while (!open.empty() && BootClock::now() < end) {
        std::vector<pollfd> polled;
        polled.reserve(open.size());
        for (const Attachment* const one : open) polled.push_back(one->awaited());
        if (poll(polled.data(), polled.size(), poll_timeout(end)) <= 0) return;
        std::erase_if(open, [](Attachment* one) { return one->has_ended(); });
    }
}

}  // namespace holdfast::inline v0::zookeeper
