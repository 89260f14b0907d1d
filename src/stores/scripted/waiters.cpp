#include "stores/scripted/waiters.hpp"

#include <utility>

namespace holdfast::inline v0::scripted {

namespace {

using State = Standing::State;

/// Who has no place was never answered, so its enter may still be on its way.
bool enter_may_come(const Ticket& ticket) {
    return ticket.place.empty() || ticket.place.back() == sent_again;
}

}  // namespace

/// An enter that is repeated says nothing of what was pushed before it, so the first period counts.
void Waiters::expect(const Contender& contender, std::uint64_t period) {
    if (period == 0) return;
    const std::lock_guard guard(mutex_);
    const auto [found, fresh] = entries_.try_emplace(contender.nonce);
    if (!fresh) return;
    found->second.ticket = {contender.resource, contender.nonce, {}};
    found->second.period = period;
}

void Waiters::forget(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    entries_.erase(nonce);
}

std::unique_ptr<Watch> Waiters::watch(const Ticket& ticket, LineMoved line_moved) {
    auto watch = watchers_->add(ticket.nonce, std::move(line_moved));
    const std::lock_guard guard(mutex_);
    entries_[ticket.nonce].ticket = ticket;
    return watch;
}

bool Waiters::has_heard_all_in(std::uint64_t period, const Nonce& nonce) const {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(nonce);
    return found != entries_.end() && found->second.period == period;
}

void Waiters::tell_what_was_kept(const Nonce& nonce) {
    std::optional<Standing> kept;
    {
        const std::lock_guard guard(mutex_);
        const auto found = entries_.find(nonce);
        if (found != entries_.end()) kept = std::exchange(found->second.pushed, std::nullopt);
    }
    if (kept) watchers_->call(nonce, *kept);
}

void Waiters::tell(const News& news) {
    if (news.whom == News::Whom::the_only_one) return tell_the_only_one(news.standing);
    for (const Nonce& nonce : news.nonces) tell(nonce, news.standing);
}

/// Kept first and then looked for, and the other way round when it is watched: so one of the two
/// finds it.
void Waiters::tell(const Nonce& nonce, const Standing& standing) {
    keep(nonce, standing);
    if (watchers_->watches(nonce)) tell_what_was_kept(nonce);
}

/// That it is its turn stays said: it may have been overtaken by an earlier push.
void Waiters::keep(const Nonce& nonce, const Standing& pushed) {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(nonce);
    if (found == entries_.end()) return;
    auto& kept = found->second.pushed;
    if (!kept || kept->state != State::offered) kept = pushed;
}

/// Where one waits there is no doubt whom it concerns: it claims at once, and the server decides.
void Waiters::tell_the_only_one(const Standing& standing) {
    std::optional<Nonce> only;
    {
        const std::lock_guard guard(mutex_);
        if (entries_.size() == 1) only = entries_.begin()->first;
    }
    if (only) watchers_->call(*only, standing);
}

void Waiters::tell_answer(const Nonce& nonce, const Result<Standing>& result) {
    // It could not be asked for: it is to do so itself, until it is answered.
    if (!result.ok()) return watchers_->call(nonce, {.state = State::waiting});
    const Standing& standing = result.value();
    if (standing.state == State::waiting && !standing.look_again) return;
    watchers_->call(nonce, standing);
}

std::vector<Ticket> Waiters::watched() const {
    std::vector<Ticket> tickets;
    const std::lock_guard guard(mutex_);
    for (const auto& [nonce, entry] : entries_) {
        if (watchers_->watches(nonce)) tickets.push_back(entry.ticket);
    }
    return tickets;
}

void Waiters::settled(const Nonce& nonce, const Standing& standing) {
    const bool waits_no_more = standing.state == State::admitted || standing.state == State::gone;
    if (waits_no_more) Waiters::forget(nonce);
}

Departure Waiters::leave(const Ticket& ticket) {
    Waiters::forget(ticket.nonce);
    return {.nonce = ticket.nonce, .plants_tombstone = enter_may_come(ticket)};
}

}  // namespace holdfast::inline v0::scripted
