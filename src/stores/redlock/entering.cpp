#include "stores/redlock/entering.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::inline v0::redlock {

namespace {

using namespace std::chrono_literals;
using State = Standing::State;

/// How often one that does not wait tries again while rivals divide the nodes, so that not all of
/// them go away with nothing.
constexpr unsigned most_tries = 8;
/// What says of a ticket that its contender was answered.
constexpr std::string_view was_answered = "+";

}  // namespace

Chance::Chance() {
    std::random_device device;
    generator_.seed((std::uint64_t{device()} << 32U) | device());
    for (std::byte& byte : nonce_.bytes) byte = static_cast<std::byte>(device());
}

std::uint64_t Chance::number() {
    const std::lock_guard guard(mutex_);
    return generator_();
}

Nonce Chance::nonce() {
    const std::lock_guard guard(mutex_);
    std::uint64_t count = 0;
    std::memcpy(&count, nonce_.bytes.data() + 8, sizeof count);
    ++count;
    std::memcpy(nonce_.bytes.data() + 8, &count, sizeof count);
    return nonce_;
}

void Entering::enter(const Desk& desk, const Entrance& entrance) {
    try_once(desk, entrance.candidate, [this, desk, entrance](const Result<Standing>& result) {
        if (const auto store = desk.store.lock()) entered(desk, entrance, result);
    });
}

void Entering::entered(const Desk& desk, Entrance entrance, const Result<Standing>& result) {
    const Candidate& candidate = *entrance.candidate;
    if (!result.ok()) {
        waiting_.forget(candidate.nonce);
        if (result.failure().effect == Effect::none) candidates_.forget(candidate.nonce);
        return entrance.flight->complete(result.failure());
    }
    Standing standing = result.value();
    if (standing.state == State::waiting && entrance.patience == Patience::none) {
        if (may_try_again(entrance)) {
            ++entrance.tries;
            const Moment next = BootClock::now() + standing.look_again.value_or(0ms);
            return desk.wire.at(next, [this, desk, entrance = std::move(entrance)] {
                if (const auto store = desk.store.lock()) enter(desk, entrance);
            });
        }
        standing = {};
    }
    if (standing.state == State::gone) {
        waiting_.forget(candidate.nonce);
        candidates_.forget(candidate.nonce);
    }
    entrance.flight->complete_with([&] {
        return std::vector<Entry>{
            {{candidate.profile->resource, candidate.nonce, std::string(was_answered)}, standing}};
    });
}

bool Entering::may_try_again(const Entrance& entrance) const {
    const auto lock = candidates_.lock();
    return entrance.candidate->contested > 0 && entrance.tries < most_tries;
}

void Entering::try_once(const Desk& desk, const Known& candidate, Candidate::Told told) {
    std::shared_ptr<Candidacy> now;
    {
        auto lock = candidates_.lock();
        if (candidate->has_left || candidate->holds()) {
            const Standing standing = standing_of(*candidate);
            lock.unlock();
            return told(standing);
        }
        candidate->asked.push_back(std::move(told));
        if (candidate->tries) return;
        now = another_try(desk, *candidate);
    }
    go(desk, candidate, *now, Corrects::yes);
}

/// The candidates are locked.
std::shared_ptr<Candidacy> Entering::another_try(const Desk& desk, Candidate& candidate) {
    const Nonce nonce = candidate.last_try ? chance_.nonce() : candidate.nonce;
    candidate.last_try = std::make_shared<Candidacy>(desk, candidate.profile, nonce);
    candidate.tries = true;
    candidate.has_reason = false;
    return candidate.last_try;
}

void Entering::go(const Desk& desk, const Known& candidate, Candidacy& now, Corrects corrects) {
    const auto lease = [&] {
        const auto lock = candidates_.lock();
        return candidate->lease;
    }();
    now.enter(lease, [this, desk, candidate, corrects](Candidacy::Outcome outcome) {
        const auto store = desk.store.lock();
        if (store) tried(desk, candidate, std::move(outcome), corrects);
    });
}

void Entering::tried(const Desk& desk, const Known& candidate, Candidacy::Outcome outcome,
                     Corrects corrects) {
    std::vector<Candidate::Told> asked;
    std::optional<Result<Standing>> result;
    std::shared_ptr<Candidacy> again;
    {
        const auto lock = candidates_.lock();
        if (outcome.proposed_too_much && corrects == Corrects::yes && !candidate->has_left) {
            again = another_try(desk, *candidate);
        } else {
            candidate->tries = false;
            asked = std::exchange(candidate->asked, {});
            result = standing_after(*candidate, outcome);
        }
    }
    if (again) return go(desk, candidate, *again, Corrects::no);
    if (result->ok()) waiting_.settled(candidate->nonce, result->value());
    for (const auto& told : asked) told(*result);
}

Standing Entering::standing_of(const Candidate& candidate) {
    if (candidate.has_left || !candidate.holds()) return {};
    return {.state = State::admitted, .fence = candidate.fence, .counted_from = candidate.heard};
}

Result<Standing> Entering::standing_after(Candidate& candidate, Candidacy::Outcome& outcome) {
    candidate.contested = outcome.decision == Decision::contested ? candidate.contested + 1 : 0;
    if (outcome.decision == Decision::gone) return Standing{};
    // A try that failed is not answered: the next renewal is to find that out again, or one that
    // waits without a limit would never be told.
    if (outcome.failure) return *std::move(outcome.failure);
    candidate.heard = std::max(candidate.heard, outcome.sent);
    if (outcome.decision == Decision::admitted) {
        candidate.fence = outcome.fence;
        return standing_of(candidate);
    }
    const auto apart = back_off(candidate.contested, outcome.flight, chance_.number());
    // Past the end of the lease that is in its way, and not at the same moment as others. At once,
    // when it was called in the middle of the try.
    const bool awaits_lease = outcome.decision == Decision::held && !candidate.has_reason;
    const auto free = awaits_lease ? outcome.until_free + 1ms : 0ms;
    return Standing{.state = State::waiting,
                    .counted_from = outcome.sent,
                    .look_again = std::chrono::nanoseconds(free) + apart};
}

}  // namespace holdfast::inline v0::redlock
