#include "stores/redlock/renewing.hpp"

#include <chrono>
#include <optional>

namespace holdfast::inline v0::redlock {

namespace {

using State = Standing::State;

/// Where nothing need be asked: it waits, and has just looked.
std::optional<Standing> known_of(const Candidate& candidate, std::chrono::milliseconds lease) {
    const bool has_just_looked = BootClock::now() - candidate.heard < lease / 4;
    if (candidate.holds() || candidate.has_reason || !has_just_looked) return std::nullopt;
    return Standing{.state = State::waiting, .counted_from = candidate.heard};
}

}  // namespace

Pending<std::vector<Standing>> Renewing::renew(const Desk& desk, std::span<const Ticket> tickets,
                                               const Extension& extension) {
    const auto renewal = std::make_shared<Renewal>(desk.wire, tickets.size());
    for (std::size_t i = 0; i < tickets.size(); ++i) {
        renew(desk, tickets[i], extension, {renewal, i});
    }
    return Pending<std::vector<Standing>>({renewal, &renewal->flight});
}

void Renewing::renew(const Desk& desk, const Ticket& ticket, const Extension& extension,
                     const Part& part) {
    const auto candidate = candidates_.find(ticket.nonce);
    if (!candidate) return part.take(Standing{});
    bool holds = false;
    {
        auto lock = candidates_.lock();
        if (const auto known = known_of(*candidate, extension.lease)) {
            lock.unlock();
            return part.take(*known);
        }
        holds = candidate->holds();
        candidate->lease = extension.lease;
    }
    if (holds) return renew_hold(desk, candidate, extension, part);
    part.stood({.state = State::waiting});
    entering_.try_once(desk, candidate,
                       [part](const Result<Standing>& result) { part.take(result); });
}

void Renewing::renew_hold(const Desk& desk, const Known& candidate, const Extension& extension,
                          const Part& part) {
    part.stood({.state = State::admitted, .fence = candidate->fence});
    const Moment sent = BootClock::now();
    candidate->last_try->renew(extension, candidate->fence,
                               [this, desk, candidate, part, sent](Decision decision) {
                                   const auto store = desk.store.lock();
                                   if (store) part.take(renewed(desk, *candidate, decision, sent));
                               });
}

Result<Standing> Renewing::renewed(const Desk& desk, Candidate& candidate, Decision decision,
                                   Moment sent) {
    if (decision == Decision::admitted) {
        return Standing{.state = State::admitted, .fence = candidate.fence, .counted_from = sent};
    }
    if (decision != Decision::gone) {
        return Failure{errc::unreachable, Effect::unknown,
                       desk.description + ": too few nodes answered a renewal"};
    }
    // Of a minority that still has it.
    candidate.last_try->leave(Requests::Calls::made, {});
    waiting_.forget(candidate.nonce);
    candidates_.forget(candidate.nonce);
    return Standing{};
}

}  // namespace holdfast::inline v0::redlock
