#include "stores/redlock/redlock_store.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstring>
#include <mutex>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <holdfast/error.hpp>

#include "stores/redlock/candidacy.hpp"
#include "stores/redlock/candidates.hpp"
#include "stores/redlock/checkup.hpp"
#include "stores/redlock/desk.hpp"
#include "stores/redlock/founding.hpp"
#include "stores/redlock/nodes.hpp"
#include "stores/redlock/promises.hpp"
#include "stores/redlock/redlock_wire.hpp"
#include "stores/redlock/renewal.hpp"
#include "stores/redlock/survey.hpp"
#include "stores/scripted/news.hpp"
#include "stores/scripted/waiters.hpp"

namespace holdfast::inline v0::redlock {

namespace {

using namespace std::chrono_literals;
using State = Standing::State;
using Calls = Requests::Calls;

/// How often one that does not wait tries again while rivals divide the nodes, so that not all of
/// them go away with nothing.
constexpr unsigned most_tries = 8;
/// What says of a ticket that its contender was answered.
constexpr std::string_view was_answered = "+";

/// Nonces of tries after the first, and what parts rivals. Threads: any.
class Chance {
public:
    Chance() {
        std::random_device device;
        generator_.seed((std::uint64_t{device()} << 32U) | device());
        for (std::byte& byte : nonce_.bytes) byte = static_cast<std::byte>(device());
    }
    std::uint64_t number() {
        const std::lock_guard guard(mutex_);
        return generator_();
    }
    Nonce nonce() {
        const std::lock_guard guard(mutex_);
        std::uint64_t count = 0;
        std::memcpy(&count, nonce_.bytes.data() + 8, sizeof count);
        ++count;
        std::memcpy(nonce_.bytes.data() + 8, &count, sizeof count);
        return nonce_;
    }

private:
    std::mutex mutex_;
    std::mt19937_64 generator_;
    Nonce nonce_;
};

class RedlockStore;

/// What one node pushes.
class Ear final : public RedlockWire::Listener {
public:
    explicit Ear(std::weak_ptr<RedlockStore> store) : store_(std::move(store)) {}
    void missed() override;
    void pushed(const redis::Reply& message) override;

private:
    const std::weak_ptr<RedlockStore> store_;
};

class RedlockStore final : public Store, public std::enable_shared_from_this<RedlockStore> {
public:
    explicit RedlockStore(const Nodes& nodes)
        : nodes_(nodes),
          description_(nodes.shown()),
          requests_(nodes.terms),
          acquaintance_(nodes.terms),
          candidates_(nodes.terms.max_lease),
          wire_(nodes, requests_.channel()) {}

    void connect();

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override;
    Pending<Standing> standing(const Ticket& ticket) override;
    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override;
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override;
    Pending<Standing> leave(const Ticket& ticket) override;
    Pending<std::vector<Line>> inspect(std::string prefix) override {
        return std::make_shared<Survey>(desk())->of_all(std::move(prefix));
    }
    Pending<std::vector<Line>> look_at(const std::string& resource) override {
        return std::make_shared<Survey>(desk())->of_one(resource);
    }

    Pending<std::size_t> initialize() override {
        return std::make_shared<Founding>(desk())->begin();
    }

    Capabilities capabilities() const override;
    Result<Examination> examine() override { return redlock::examine(nodes_, requests_.channel()); }
    RedlockWire& wire() override { return wire_; }
    const std::string& description() const override { return description_; }

    void missed();
    void pushed(const redis::Reply& message);

private:
    using Known = std::shared_ptr<Candidate>;

    Desk desk() { return {wire_, requests_, acquaintance_, description_, weak_from_this()}; }

    void try_to_enter(const Known& candidate, Candidate::Told told);
    void tried(const Known& candidate, Candidacy::Outcome outcome);
    static Standing standing_of(const Candidate& candidate);
    Result<Standing> standing_after(Candidate& candidate, Candidacy::Outcome& outcome);
    void enter_again(const Known& candidate, unsigned tries,
                     const std::shared_ptr<Flight<std::vector<Entry>>>& flight, Patience patience);
    void entered(const Known& candidate, unsigned tries,
                 const std::shared_ptr<Flight<std::vector<Entry>>>& flight, Patience patience,
                 Result<Standing> result);
    bool is_contested(const Known& candidate);
    void renew(const Ticket& ticket, const Extension& extension,
               const std::shared_ptr<Renewal>& renewal, std::size_t which);
    void renew_hold(const Known& candidate, const Extension& extension,
                    const std::shared_ptr<Renewal>& renewal, std::size_t which);
    std::optional<Standing> known_of(const Known& candidate, std::chrono::milliseconds lease);
    void forget(const Nonce& nonce) {
        waiters_.forget(nonce);
        candidates_.forget(nonce);
    }
    std::size_t heard() const;

    const Nodes nodes_;
    const std::string description_;
    const Requests requests_;
    Acquaintance acquaintance_;
    Chance chance_;
    Candidates candidates_;
    scripted::Waiters waiters_;
    std::vector<std::shared_ptr<RedlockWire::Listener>> ears_;
    std::mutex ears_mutex_;
    std::uint64_t periods_ = 0;             ///< under ears_mutex_
    std::atomic<std::uint64_t> period_{0};  ///< of hearing a majority; nought: that is not so
    RedlockWire wire_;
};

void Ear::missed() {
    if (const auto store = store_.lock()) store->missed();
}
void Ear::pushed(const redis::Reply& message) {
    if (const auto store = store_.lock()) store->pushed(message);
}

}  // namespace

// --- connecting ---

namespace {

/// The first question to all nodes.
class Greeting {
public:
    Greeting(Wire& wire, const Desk& desk) : flight(wire), desk_(desk) {}

    void take(const redis::Answer& answer) {
        std::unique_lock lock(mutex_);
        ++(answer.result.ok() ? answered_ : failed_);
        if (!answer.result.ok()) note(answer.result.failure());
        const bool is_enough = answered_ >= desk_.terms().majority();
        const bool is_hopeless = desk_.terms().nodes - failed_ < desk_.terms().majority();
        if (is_over_ || (!is_enough && !is_hopeless)) return;
        is_over_ = true;
        Result<bool> outcome = true;
        if (is_hopeless) outcome = why();
        lock.unlock();
        flight.complete(std::move(outcome));
    }

    Flight<bool> flight;

private:
    /// What waiting does not mend says more than what it may.
    void note(const Failure& failure) {
        if (!failure_ || net::is_lasting(failure)) failure_ = failure;
    }
    Failure why() const {
        return {failure_->code, Effect::none,
                desk_.description + ": " + std::to_string(failed_) + " of " +
                    std::to_string(desk_.terms().nodes) + " nodes cannot be had; " +
                    failure_->sentence};
    }

    const Desk desk_;
    std::mutex mutex_;
    std::size_t answered_ = 0;
    std::size_t failed_ = 0;
    bool is_over_ = false;
    std::optional<Failure> failure_;
};

}  // namespace

void RedlockStore::connect() {
    for (std::size_t i = 0; i < wire_.nodes(); ++i) {
        ears_.push_back(std::make_shared<Ear>(weak_from_this()));
    }
    const auto greeting = std::make_shared<Greeting>(wire_, desk());
    for (std::size_t i = 0; i < wire_.nodes(); ++i) {
        wire_.submit(
            i, {"ECHO", "holdfast"},
            [greeting](const redis::Answer& answer) { greeting->take(answer); }, wire_.until());
    }
    const auto outcome = Pending<bool>({greeting, &greeting->flight}).get();
    if (!outcome.ok()) throw Error(outcome.failure().code, outcome.failure().sentence);
}

Capabilities RedlockStore::capabilities() const {
    Capabilities can = redlock::capabilities;
    can.longest_lease = requests_.terms().max_lease;
    return can;
}

// --- entering ---

Pending<std::vector<Entry>> RedlockStore::enter(std::span<const Contender> contenders) {
    assert(contenders.size() == 1);
    for (const Nonce& nonce : candidates_.forget_left_over(BootClock::now())) {
        waiters_.forget(nonce);
    }
    const Contender& one = contenders.front();
    if (one.patience == Patience::wait) waiters_.expect(one, period_);
    const auto candidate =
        candidates_.add(std::make_shared<Profile>(requests_.profile_of(one)), one.nonce, one.lease);
    const auto flight = std::make_shared<Flight<std::vector<Entry>>>(wire_);
    flight->on_orphan([weak = weak_from_this(), candidate](const auto& result) {
        const auto self = weak.lock();
        const bool may_be_in = result.ok() || result.failure().effect == Effect::unknown;
        if (!self || !may_be_in) return;
        self->leave({candidate->profile->resource, candidate->nonce, {}}).then([](const auto&) {});
    });
    enter_again(candidate, 1, flight, one.patience);
    return Pending<std::vector<Entry>>(flight);
}

void RedlockStore::enter_again(const Known& candidate, unsigned tries,
                               const std::shared_ptr<Flight<std::vector<Entry>>>& flight,
                               Patience patience) {
    try_to_enter(candidate, [weak = weak_from_this(), candidate, tries, flight,
                             patience](Result<Standing> result) {
        if (const auto self = weak.lock()) {
            self->entered(candidate, tries, flight, patience, std::move(result));
        }
    });
}

void RedlockStore::entered(const Known& candidate, unsigned tries,
                           const std::shared_ptr<Flight<std::vector<Entry>>>& flight,
                           Patience patience, Result<Standing> result) {
    if (!result.ok()) {
        waiters_.forget(candidate->nonce);
        if (result.failure().effect == Effect::none) candidates_.forget(candidate->nonce);
        return flight->complete(result.failure());
    }
    Standing standing = result.value();
    if (standing.state == State::waiting && patience == Patience::none) {
        if (tries < most_tries && is_contested(candidate)) {
            const Moment next = BootClock::now() + standing.look_again.value_or(0ms);
            return wire_.at(next, [weak = weak_from_this(), candidate, tries, flight, patience] {
                if (const auto self = weak.lock()) {
                    self->enter_again(candidate, tries + 1, flight, patience);
                }
            });
        }
        standing = {};
    }
    if (standing.state == State::gone) forget(candidate->nonce);
    std::vector<Entry> entries{
        {{candidate->profile->resource, candidate->nonce, std::string(was_answered)}, standing}};
    flight->complete(std::move(entries));
}

bool RedlockStore::is_contested(const Known& candidate) {
    const auto lock = candidates_.lock();
    return candidate->contested > 0;
}

/// Whoever asks while one is under way is told how that ends.
void RedlockStore::try_to_enter(const Known& candidate, Candidate::Told told) {
    std::shared_ptr<Candidacy> now;
    std::chrono::milliseconds lease{0};
    {
        auto lock = candidates_.lock();
        if (candidate->has_left || candidate->holds()) {
            const Standing standing = standing_of(*candidate);
            lock.unlock();
            return told(standing);
        }
        candidate->asked.push_back(std::move(told));
        if (std::exchange(candidate->tries, true)) return;
        candidate->has_reason = false;
        const Nonce nonce = candidate->last_try ? chance_.nonce() : candidate->nonce;
        now = std::make_shared<Candidacy>(desk(), candidate->profile, nonce);
        candidate->last_try = now;
        lease = candidate->lease;
    }
    now->enter(lease, [weak = weak_from_this(), candidate](Candidacy::Outcome outcome) {
        if (const auto self = weak.lock()) self->tried(candidate, std::move(outcome));
    });
}

void RedlockStore::tried(const Known& candidate, Candidacy::Outcome outcome) {
    std::vector<Candidate::Told> asked;
    std::optional<Result<Standing>> result;
    {
        const auto lock = candidates_.lock();
        candidate->tries = false;
        asked = std::move(candidate->asked);
        candidate->asked.clear();
        result = standing_after(*candidate, outcome);
    }
    if (result->ok()) waiters_.settled(candidate->nonce, result->value());
    for (const auto& told : asked) told(*result);
}

Standing RedlockStore::standing_of(const Candidate& candidate) {
    if (candidate.has_left || !candidate.holds()) return {};
    return {.state = State::admitted, .fence = candidate.fence, .counted_from = candidate.heard};
}

Result<Standing> RedlockStore::standing_after(Candidate& candidate, Candidacy::Outcome& outcome) {
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
    // Past the end of the lease that is in its way, and not at the same moment as others.
    const auto free = outcome.decision == Decision::held ? outcome.until_free + 1ms : 0ms;
    return Standing{.state = State::waiting,
                    .counted_from = outcome.sent,
                    .look_again = std::chrono::nanoseconds(free) + apart};
}

// --- waiting ---

std::size_t RedlockStore::heard() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < wire_.nodes(); ++i) count += wire_.hears(i) ? 1 : 0;
    return count;
}

/// A call that one node makes is made by the others too: while a majority is heard, nobody relies
/// on one alone.
void RedlockStore::missed() {
    {
        const std::lock_guard guard(ears_mutex_);
        const bool hears_enough = heard() >= requests_.terms().majority();
        if (hears_enough && period_ != 0) return;
        period_ = hears_enough ? ++periods_ : 0;
    }
    scripted::News look{.standing = {.state = State::waiting}};
    for (const Ticket& ticket : waiters_.watched()) look.nonces.push_back(ticket.nonce);
    waiters_.tell(look);
}

/// ["message", channel, whom it concerns and what]
void RedlockStore::pushed(const redis::Reply& message) {
    if (message.elements.size() != 3 || message.elements[0].text != "message") return;
    const auto news = scripted::news_in(message.elements[2].text);
    for (const Nonce& nonce : news.nonces) {
        const auto candidate = candidates_.find(nonce);
        if (!candidate) continue;
        const auto lock = candidates_.lock();
        candidate->has_reason = true;
    }
    waiters_.tell(news);
}

std::unique_ptr<Watch> RedlockStore::watch(const Ticket& ticket, LineMoved line_moved) {
    auto watch = waiters_.watch(ticket, std::move(line_moved));
    const std::uint64_t period = period_;
    if (period == 0) {
        // Once a majority is heard, everybody who waits looks.
        wire_.listen(ears_);
    } else if (waiters_.has_heard_all_in(period, ticket.nonce)) {
        waiters_.tell_what_was_kept(ticket.nonce);
    } else {
        waiters_.tell({.nonces = {ticket.nonce}, .standing = {.state = State::waiting}});
    }
    return watch;
}

/// Of one that waits the nodes know nothing: its look is a try, as any claim is. Of one that holds
/// its fence is what a majority has been told, and not what some of them say.
Pending<Standing> RedlockStore::standing(const Ticket& ticket) {
    if (const auto candidate = candidates_.find(ticket.nonce)) {
        const auto lock = candidates_.lock();
        candidate->has_reason = true;
        return candidate->holds() ? standing_of(*candidate) : Standing{.state = State::offered};
    }
    const auto flight = std::make_shared<Flight<Standing>>(wire_);
    look_at(ticket.resource).then([flight, nonce = ticket.nonce](const auto& lines) {
        if (!lines.ok()) return flight->complete(lines.failure());
        Standing found;
        for (const Line& line : lines.value()) {
            for (const Place& place : line.holders) {
                if (place.ticket.nonce != nonce) continue;
                found = {.state = State::admitted, .fence = place.fence};
            }
        }
        flight->complete(found);
    });
    return Pending<Standing>(flight);
}

// --- renewing ---

Pending<std::vector<Standing>> RedlockStore::renew(std::span<const Ticket> tickets,
                                                   Extension extension) {
    const auto renewal = std::make_shared<Renewal>(wire_, tickets.size());
    for (std::size_t i = 0; i < tickets.size(); ++i) renew(tickets[i], extension, renewal, i);
    return Pending<std::vector<Standing>>({renewal, &renewal->flight});
}

void RedlockStore::renew(const Ticket& ticket, const Extension& extension,
                         const std::shared_ptr<Renewal>& renewal, std::size_t which) {
    const auto candidate = candidates_.find(ticket.nonce);
    if (!candidate) return renewal->take(which, Standing{});
    if (const auto known = known_of(candidate, extension.lease)) {
        return renewal->take(which, *known);
    }
    bool holds = false;
    {
        const auto lock = candidates_.lock();
        holds = candidate->holds();
        candidate->lease = extension.lease;
    }
    if (holds) return renew_hold(candidate, extension, renewal, which);
    renewal->stood(which, {.state = State::waiting});
    try_to_enter(candidate, [renewal, which](const Result<Standing>& result) {
        renewal->take(which, result);
    });
}

/// Where nothing need be asked: it waits, and has just looked.
std::optional<Standing> RedlockStore::known_of(const Known& candidate,
                                               std::chrono::milliseconds lease) {
    const auto lock = candidates_.lock();
    const bool has_just_looked = BootClock::now() - candidate->heard < lease / 4;
    if (candidate->holds() || candidate->has_reason || !has_just_looked) return std::nullopt;
    return Standing{.state = State::waiting, .counted_from = candidate->heard};
}

void RedlockStore::renew_hold(const Known& candidate, const Extension& extension,
                              const std::shared_ptr<Renewal>& renewal, std::size_t which) {
    const std::uint64_t fence = candidate->fence;
    const Standing held{.state = State::admitted, .fence = fence};
    renewal->stood(which, held);
    const Moment sent = BootClock::now();
    candidate->last_try->renew(
        extension, fence,
        [weak = weak_from_this(), candidate, renewal, which, held, sent](Decision decision) {
            const auto self = weak.lock();
            if (!self) return;
            if (decision == Decision::admitted) {
                Standing still = held;
                still.counted_from = sent;
                return renewal->take(which, still);
            }
            if (decision == Decision::gone) {
                // Of a minority that still has it.
                candidate->last_try->leave(Calls::made, {});
                self->forget(candidate->nonce);
                return renewal->take(which, Standing{});
            }
            renewal->take(which,
                          Failure{errc::unreachable, Effect::unknown,
                                  self->description_ + ": too few nodes answered a renewal"});
        });
}

// --- leaving ---

Pending<Standing> RedlockStore::leave(const Ticket& ticket) {
    const auto candidate = candidates_.find(ticket.nonce);
    std::shared_ptr<Candidacy> last_try;
    std::uint64_t fence = 0;
    if (candidate) {
        const auto lock = candidates_.lock();
        candidate->has_left = true;
        last_try = candidate->last_try;
        fence = candidate->fence;
    }
    if (candidate && fence == 0 && !ticket.place.empty()) {
        forget(ticket.nonce);
        last_try->leave(Calls::made, {});
        return Standing{.state = State::waiting};
    }
    const auto flight = std::make_shared<Flight<Standing>>(wire_);
    const auto told = [weak = weak_from_this(), flight, fence,
                       nonce = ticket.nonce](Decision decision) {
        const auto self = weak.lock();
        if (!self) return;
        if (decision == Decision::too_few) {
            self->candidates_.is_left_over(nonce, BootClock::now());
            return flight->complete(
                Failure{errc::unreachable, Effect::unknown,
                        self->description_ + ": too few nodes answered; what is left ends with its "
                                             "lease"});
        }
        self->forget(nonce);
        const bool was_in = decision == Decision::admitted;
        flight->complete(was_in ? Standing{.state = State::admitted, .fence = fence} : Standing{});
    };
    if (candidate) {
        last_try->leave(Calls::made, told);
    } else {
        take_out(desk(), requests_.profile_of(ticket.resource), ticket, told);
    }
    return Pending<Standing>(flight);
}

std::shared_ptr<Store> open_redlock(const StoreUrl& url) {
    const auto store = std::make_shared<RedlockStore>(nodes_of(url));
    store->connect();
    return store;
}

}  // namespace holdfast::inline v0::redlock
