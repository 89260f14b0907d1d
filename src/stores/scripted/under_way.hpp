#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "port/clock.hpp"
#include "port/contender.hpp"
#include "port/pending.hpp"
#include "port/unanswered.hpp"
#include "stores/scripted/waiters.hpp"

/// Requests that are under way, and what must be known of them when they are answered.
namespace holdfast::inline v0::scripted {

/// An enter, and who asked; what is told of them in listings alone is left out.
struct Entering {
    Entering(Wire& wire, std::span<const Contender> asked) : flight(wire) {
        contenders.reserve(asked.size());
        for (const Contender& one : asked) {
            contenders.push_back({.resource = one.resource,
                                  .nonce = one.nonce,
                                  .owner = one.reenter ? one.owner : std::string(),
                                  .weight = one.weight,
                                  .capacity = one.capacity,
                                  .form = one.form,
                                  .fairness = one.fairness,
                                  .patience = one.patience,
                                  .lease = one.lease,
                                  .reenter = one.reenter});
        }
    }

    Flight<std::vector<Entry>> flight;
    std::vector<Contender> contenders;
};

/// A leave, and who leaves.
struct Leaving {
    Leaving(Wire& wire, Departure whose) : flight(wire), departure(std::move(whose)) {}

    Flight<Standing> flight;
    const Departure departure;
};

/// A renewal of many tickets: one request or several, one answer in the end. Callbacks of several
/// turns may run at the same time.
struct Renewing {
    Renewing(Wire& wire, std::span<const Ticket> tickets, const Extension& asked)
        : flight(wire),
          extension(asked),
          lease_end(BootClock::now() + asked.lease),
          standings(tickets.size()) {
        nonces.reserve(tickets.size());
        for (const Ticket& ticket : tickets) nonces.push_back(ticket.nonce);
    }

    /// What one of the requests was answered. Whether it was the last.
    bool take(std::span<const std::size_t> which, Result<std::vector<Standing>> result) {
        const std::lock_guard guard(mutex);
        for (std::size_t i = 0; i < which.size(); ++i) {
            standings[which[i]] = result.ok() ? result.value()[i] : unanswered();
        }
        if (result.ok()) {
            any_answered = true;
        } else {
            failure = std::move(result).failure();
        }
        return --due == 0;
    }
    /// After the last. One that failed costs the others nothing.
    Result<std::vector<Standing>> outcome() {
        if (failure && !any_answered) return *std::move(failure);
        return std::move(standings);
    }

    Flight<std::vector<Standing>> flight;
    std::vector<Nonce> nonces;
    const Extension extension;
    const Moment lease_end;

    std::mutex mutex = {};
    std::vector<Standing> standings;
    std::size_t due = 0;
    bool any_answered = false;
    std::optional<Failure> failure = std::nullopt;
};

}  // namespace holdfast::inline v0::scripted
