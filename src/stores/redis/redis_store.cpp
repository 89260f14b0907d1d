#include "stores/redis/redis_store.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include <holdfast/error.hpp>

#include "port/sentences.hpp"
#include "port/watchers.hpp"
#include "stores/redis/answers.hpp"
#include "stores/redis/layout.hpp"
#include "stores/redis/listing.hpp"
#include "stores/redis/redis_wire.hpp"
#include "stores/redis/waiters.hpp"

namespace holdfast::inline v0::redis {

namespace {

using namespace std::chrono_literals;
using State = Standing::State;

/// How long a delayed enter is refused after the leave that looked for it.
constexpr std::chrono::milliseconds tombstone_time = 1min;
/// How often a tombstone is tried to be planted in the background. Each try is as patient as any
/// request, so they last as long as one would.
constexpr int most_withdrawals = 20;

Failure with_unknown_effect(Failure failure) {
    failure.effect = Effect::unknown;
    return failure;
}

/// Ends the place of a contender whose enter was sent more than once: a copy may still come.
constexpr char sent_again = '!';

class RedisStore final : public Store,
                         public RedisWire::Listener,
                         public std::enable_shared_from_this<RedisStore> {
public:
    RedisStore(Address address, std::unique_ptr<Layout> layout)
        : address_(std::move(address)),
          description_(address_.shown()),
          layout_(std::move(layout)),
          answers_(address_, *layout_),
          wire_(address_, layout_->pushes()) {}

    /// Throws Error when the server cannot be reached in time, or not entered.
    void connect();

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override;
    Pending<Standing> standing(const Ticket& ticket) override;
    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override;
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override;
    Pending<Standing> leave(const Ticket& ticket) override;
    Pending<std::vector<Line>> inspect(std::string prefix) override {
        return list(wire_, *layout_, weak_from_this(), std::move(prefix));
    }
    Pending<std::vector<Line>> look_at(const std::string& resource) override {
        if (const auto objection = layout_->objection_to(resource)) {
            return Failure{errc::invalid_argument, Effect::none, *objection};
        }
        return redis::look_at(wire_, *layout_, weak_from_this(), resource);
    }
    Capabilities capabilities() const override { return layout_->capabilities(); }
    Wire& wire() override { return wire_; }
    const std::string& description() const override { return description_; }

    void missed() override;
    void pushed(const Reply& message) override;

private:
    struct Entering;
    struct Leaving;
    struct Renewing;

    template <class T, class Read>
    void submit(Command command, const std::shared_ptr<Flight<T>>& flight, Read read);

    void expect(std::span<const Contender> contenders);
    Result<std::vector<Entry>> entered(Answer answer, std::span<const Contender> contenders);
    Result<Standing> left(const Leaving& leaving, Answer answer);
    Result<Standing> left(Answer answer);
    void take_back(const Result<std::vector<Entry>>& result, std::span<const Contender> contenders);
    void withdraw(std::span<const Contender> contenders);
    void withdraw(const Ticket& ticket, int tries = most_withdrawals);
    void renewed(Renewing& renewing, const std::vector<std::size_t>& which, Answer answer);
    std::optional<Waiter> renewed_waiter(const Nonce& nonce);
    bool is_over(const std::optional<Waiter>& waiter);
    void settled(const Nonce& nonce, const Standing& standing, Moment lease_end);
    void gone_from_line(const Nonce& nonce, const Standing& standing);
    void departed(const Waiter& waiter, const Standing& standing);
    void ask_for(const Ticket& ticket);
    void summon_next(const std::string& key);
    void tell(const Nonce& nonce, const Standing& standing);

    const Address address_;
    const std::string description_;
    const std::unique_ptr<const Layout> layout_;
    const Answers answers_;
    Waiters waiters_;
    const std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();
    RedisWire wire_;
};

/// An enter that is on its way, and who asked; what is told of them in listings alone is left out.
struct RedisStore::Entering {
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

/// A leave that is on its way, and who leaves.
struct RedisStore::Leaving {
    Leaving(Wire& wire, const Nonce& who) : flight(wire), nonce(who) {}

    Flight<Standing> flight;
    const Nonce nonce;
    bool plants_tombstone = false;
    std::unique_ptr<const Waiter> waiter;  ///< if it was one
};

/// A renewal of many tickets: a script for each resource, one answer in the end. Callbacks of
/// several turns may run at the same time.
struct RedisStore::Renewing {
    Renewing(std::shared_ptr<Flight<std::vector<Standing>>> whose, std::vector<Ticket> of,
             Moment until)
        : flight(std::move(whose)), tickets(std::move(of)), lease_end(until) {}

    std::shared_ptr<Flight<std::vector<Standing>>> flight;
    std::vector<Ticket> tickets;
    Moment lease_end;
    /// Of each ticket: whether it was sent as a waiter's. A holder's renewal takes nothing, and its
    /// answer says nothing of the claims before it.
    std::vector<bool> claims = std::vector<bool>(tickets.size());

    std::mutex mutex = {};
    std::vector<Standing> standings;
    std::size_t due = 0;
    std::optional<Failure> failure = std::nullopt;

    /// Whether that was the last one.
    bool take(const std::vector<std::size_t>& which, const Result<std::vector<Standing>>& result) {
        const std::lock_guard guard(mutex);
        if (!result.ok()) failure = result.failure();
        for (std::size_t i = 0; result.ok() && i < which.size(); ++i) {
            standings[which[i]] = result.value()[i];
        }
        return --due == 0;
    }
};

void RedisStore::connect() {
    const auto flight = std::make_shared<Flight<Reply>>(wire_);
    wire_.submit({"ECHO", "holdfast"},
                 [flight](Answer answer) { flight->complete(std::move(answer.result)); });
    const auto echoed = Pending<Reply>(flight).get();
    if (!echoed.ok()) throw Error(echoed.failure().code, echoed.failure().sentence);
}

/// `read` turns the answer into the result. A store that is gone meanwhile has nobody to tell.
template <class T, class Read>
void RedisStore::submit(Command command, const std::shared_ptr<Flight<T>>& flight, Read read) {
    wire_.submit(std::move(command), [weak = weak_from_this(), flight, read](Answer answer) {
        if (const auto self = weak.lock()) flight->complete(read(*self, std::move(answer)));
    });
}

Pending<std::vector<Entry>> RedisStore::enter(std::span<const Contender> contenders) {
    for (const Contender& one : contenders) {
        auto objection = layout_->objection_to(one.resource);
        if (!objection) objection = layout_->objection_to(layout_->place_of(one, 0), one.lease);
        if (objection) return Failure{errc::invalid_argument, Effect::none, *objection};
    }
    const auto entering = std::make_shared<Entering>(wire_, contenders);
    entering->flight.on_orphan([weak = weak_from_this(), asked = entering.get()](auto result) {
        if (const auto self = weak.lock()) self->take_back(result, asked->contenders);
    });
    expect(contenders);
    wire_.submit(layout_->enter(contenders), [weak = weak_from_this(), entering](Answer answer) {
        const auto self = weak.lock();
        if (!self) return;
        entering->flight.complete(self->entered(std::move(answer), entering->contenders));
    });
    return Pending<std::vector<Entry>>({entering, &entering->flight});
}

/// Before it is sent: what concerns it may be pushed before it is answered.
void RedisStore::expect(std::span<const Contender> contenders) {
    const std::uint64_t period = wire_.listening();
    if (period == 0 && !layout_->waiters_wake_each_other()) return;
    for (const Contender& one : contenders) {
        if (one.patience == Patience::none) continue;
        waiters_.add({.contender = one,
                      .key = layout_->key_of(one.resource),
                      .ticket = {one.resource, one.nonce, layout_->place_of(one, 0)},
                      .period = period,
                      .lease_end = BootClock::now() + one.lease});
    }
}

Result<std::vector<Entry>> RedisStore::entered(Answer answer,
                                               std::span<const Contender> contenders) {
    auto result = answer.result.ok() ? answers_.entries(answer.result.value(), contenders)
                                     : Result<std::vector<Entry>>(answer.result.failure());
    const std::size_t looked_at = result.ok() ? result.value().size() : 0;
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        const Standing standing = i < looked_at ? result.value()[i].standing : Standing{};
        if (standing.state != State::waiting) waiters_.remove(contenders[i].nonce);
    }
    if (!answer.repeated) return result;
    // Whoever is not in line now may still come to be, by a copy that is on its way.
    if (!result.ok()) return with_unknown_effect(result.failure());
    if (result.value().back().standing.state == State::gone) withdraw(contenders);
    for (Entry& entry : result.value()) entry.ticket.place += sent_again;
    return result;
}

/// Takes out what of a request may be in line, or may yet come.
void RedisStore::withdraw(std::span<const Contender> contenders) {
    for (const Contender& one : contenders) withdraw(Ticket{one.resource, one.nonce, {}});
}

/// Plants a tombstone, and does not rest before that is answered.
void RedisStore::withdraw(const Ticket& ticket, int tries) {
    leave({ticket.resource, ticket.nonce, {}})
        .then([weak = weak_from_this(), ticket, tries](const Result<Standing>& result) {
            const auto self = weak.lock();
            if (self && !result.ok() && tries > 1) self->withdraw(ticket, tries - 1);
        });
}

/// Nobody wants the answer any more.
void RedisStore::take_back(const Result<std::vector<Entry>>& result,
                           std::span<const Contender> contenders) {
    if (result.ok()) {
        for (const Entry& entry : result.value()) withdraw(entry.ticket);
    } else if (result.failure().effect == Effect::unknown) {
        withdraw(contenders);
    }
}

Pending<Standing> RedisStore::standing(const Ticket& ticket) {
    const auto waiter = waiters_.find(ticket.nonce);
    if (is_over(waiter)) return Standing{};
    const auto flight = std::make_shared<Flight<Standing>>(wire_);
    submit(layout_->standing(ticket, waiter ? &*waiter : nullptr), flight,
           [nonce = ticket.nonce](RedisStore& self, const Answer& answer) -> Result<Standing> {
               if (!answer.result.ok()) return answer.result.failure();
               auto result = self.answers_.standing(answer.result.value());
               const bool over = result.ok() && (result.value().state == State::admitted ||
                                                 result.value().state == State::gone);
               if (over) self.gone_from_line(nonce, result.value());
               return result;
           });
    return Pending<Standing>(flight);
}

Pending<std::vector<Standing>> RedisStore::renew(std::span<const Ticket> tickets,
                                                 Extension extension) {
    for (const Ticket& ticket : tickets) {
        if (const auto objection = layout_->objection_to(ticket.place, extension.lease)) {
            return Failure{errc::invalid_argument, Effect::none, *objection};
        }
    }
    const auto renewing = std::make_shared<Renewing>(
        std::make_shared<Flight<std::vector<Standing>>>(wire_),
        std::vector<Ticket>(tickets.begin(), tickets.end()), BootClock::now() + extension.lease);
    renewing->standings.resize(tickets.size());
    std::map<std::string_view, std::vector<std::size_t>> by_resource;
    for (std::size_t i = 0; i < tickets.size(); ++i) {
        by_resource[renewing->tickets[i].resource].push_back(i);
    }
    std::vector<std::pair<Command, std::vector<std::size_t>>> commands;
    for (auto& [resource, members] : by_resource) {
        std::vector<Layout::Renewal> renewals;
        std::vector<std::size_t> which;
        for (const std::size_t i : members) {
            if (is_over(waiters_.find(tickets[i].nonce))) continue;
            renewals.push_back({tickets[i], renewed_waiter(tickets[i].nonce)});
            renewing->claims[i] = renewals.back().waiter.has_value();
            which.push_back(i);
        }
        if (which.empty()) continue;
        commands.emplace_back(layout_->renew(renewals, extension), std::move(which));
    }
    if (commands.empty()) return renewing->standings;
    renewing->due = commands.size();
    for (auto& [command, which] : commands) {
        wire_.submit(std::move(command), [weak = weak_from_this(), renewing,
                                          members = std::move(which)](Answer answer) {
            if (const auto self = weak.lock()) self->renewed(*renewing, members, std::move(answer));
        });
    }
    return Pending<std::vector<Standing>>(renewing->flight);
}

void RedisStore::renewed(Renewing& renewing, const std::vector<std::size_t>& which, Answer answer) {
    const auto result = answer.result.ok() ? answers_.standings(answer.result.value(), which.size())
                                           : Result<std::vector<Standing>>(answer.result.failure());
    const bool copies_are_left =
        answer.repeated || (!result.ok() && result.failure().effect == Effect::unknown);
    for (std::size_t i = 0; i < which.size(); ++i) {
        const Nonce& nonce = renewing.tickets[which[i]].nonce;
        if (renewing.claims[which[i]] && !copies_are_left) waiters_.end_claim(nonce);
        if (result.ok()) settled(nonce, result.value()[i], renewing.lease_end);
    }
    if (!renewing.take(which, result)) return;
    if (renewing.failure) {
        renewing.flight->complete(*renewing.failure);
    } else {
        renewing.flight->complete(std::move(renewing.standings));
    }
}

/// What is known of one whose renewal is about to be sent. In our own layout a renewal takes
/// nothing that was not offered, and finds nobody after the leave.
std::optional<Waiter> RedisStore::renewed_waiter(const Nonce& nonce) {
    return layout_->waiters_wake_each_other() ? waiters_.begin_claim(nonce) : waiters_.find(nonce);
}

/// In the layouts of others only this client can tell that a waiter's lease has ended. It leaves no
/// more, so it is forgotten here, or it would be called instead of those behind it. A copy of what
/// it sent may still be on its way, and is not to take the lock for nobody.
bool RedisStore::is_over(const std::optional<Waiter>& waiter) {
    const bool over =
        waiter && layout_->waiters_wake_each_other() && BootClock::now() >= waiter->lease_end;
    if (over) {
        gone_from_line(waiter->ticket.nonce, Standing{});
        withdraw(waiter->ticket);
    }
    return over;
}

Pending<Standing> RedisStore::leave(const Ticket& ticket) {
    auto waiter = waiters_.remove(ticket.nonce);
    const bool may_come_again =
        ticket.place.empty() || ticket.place.back() == sent_again ||
        (layout_->waiters_wake_each_other() && (waiter || waiters_.is_doubtful(ticket.nonce)));
    const auto leaving = std::make_shared<Leaving>(wire_, ticket.nonce);
    leaving->plants_tombstone = may_come_again;
    if (waiter) leaving->waiter = std::make_unique<const Waiter>(*std::move(waiter));
    wire_.submit(layout_->leave(ticket, may_come_again ? tombstone_time : 0ms),
                 [weak = weak_from_this(), leaving](Answer answer) {
                     const auto self = weak.lock();
                     if (!self) return;
                     leaving->flight.complete(self->left(*leaving, std::move(answer)));
                 });
    return Pending<Standing>({leaving, &leaving->flight});
}

Result<Standing> RedisStore::left(const Leaving& leaving, Answer answer) {
    auto result = left(std::move(answer));
    if (result.ok() && leaving.plants_tombstone) waiters_.doubt_no_more(leaving.nonce);
    if (leaving.waiter) departed(*leaving.waiter, Standing{});
    return result;
}

Result<Standing> RedisStore::left(Answer answer) {
    if (!answer.result.ok()) return answer.result.failure();
    auto result = answers_.left(answer.result.value());
    if (result.ok() && answer.repeated && result.value().state == State::gone) {
        return perhaps_done(description_);
    }
    return result;
}

std::unique_ptr<Watch> RedisStore::watch(const Ticket& ticket, LineMoved line_moved) {
    auto watch = watchers_->add(ticket.nonce, std::move(line_moved));
    const auto known = waiters_.find(ticket.nonce);
    if (!known) {
        waiters_.add({.key = layout_->key_of(ticket.resource), .ticket = ticket});
    }
    const std::uint64_t period = wire_.listening();
    if (period == 0) {
        // Once it is heard, everybody who waits is asked for.
        wire_.listen(weak_from_this());
    } else if (!known || known->period != period) {
        ask_for(ticket);
    } else if (const auto early = waiters_.take(ticket.nonce)) {
        watchers_->call(ticket.nonce, *early);
    }
    return watch;
}

void RedisStore::missed() {
    for (const Waiter& waiter : waiters_.all()) {
        if (watchers_->watches(waiter.ticket.nonce)) ask_for(waiter.ticket);
    }
}

/// Asks where it stands, and tells what is news.
void RedisStore::ask_for(const Ticket& ticket) {
    standing(ticket).then([watchers = watchers_, nonce = ticket.nonce](const auto& result) {
        // It could not be asked for: it is to do so itself, until it is answered.
        if (!result.ok()) return watchers->call(nonce, {.state = State::waiting});
        const Standing& standing = result.value();
        if (standing.state == State::waiting && !standing.look_again) return;
        watchers->call(nonce, standing);
    });
}

void RedisStore::pushed(const Reply& message) {
    const Layout::Told told = layout_->told(message);
    if (told.everybody) missed();
    if (told.nonce) tell(*told.nonce, told.standing);
    for (const std::string& key : told.keys) summon_next(key);
}

/// Kept first and then looked for, and the other way round in watch(): so one of the two finds it.
void RedisStore::tell(const Nonce& nonce, const Standing& standing) {
    waiters_.keep(nonce, standing);
    if (!watchers_->watches(nonce)) return;
    if (const auto kept = waiters_.take(nonce)) watchers_->call(nonce, *kept);
}

void RedisStore::summon_next(const std::string& key) {
    if (const auto first = waiters_.first(key)) tell(*first, {.state = State::offered});
}

void RedisStore::settled(const Nonce& nonce, const Standing& standing, Moment lease_end) {
    if (standing.state == State::waiting) return waiters_.goes_on(nonce, lease_end);
    if (standing.state == State::offered) return;
    gone_from_line(nonce, standing);
}

void RedisStore::gone_from_line(const Nonce& nonce, const Standing& standing) {
    if (const auto waiter = waiters_.remove(nonce)) departed(*waiter, standing);
}

/// Of those who wait for a key in this process, one at a time is told. It wakes the next one when
/// it has not taken all that there is.
void RedisStore::departed(const Waiter& waiter, const Standing& standing) {
    if (!layout_->waiters_wake_each_other()) return;
    const bool took_all = standing.state == State::admitted && waiter.contender.weight == all;
    if (!took_all) summon_next(waiter.key);
}

/// Redisson's own default.
constexpr std::chrono::milliseconds usual_watchdog = 30s;

std::unique_ptr<Layout> layout_of(const StoreUrl& url) {
    const std::string name = url.text("layout").value_or("holdfast");
    const auto watchdog = url.duration("watchdog");
    if (name == "redisson") return redisson_layout(watchdog.value_or(usual_watchdog));
    if (watchdog) {
        throw Error(errc::bad_configuration,
                    url.shown +
                        ": the parameter watchdog is Redisson's; leave it out, or ask for "
                        "layout=redisson");
    }
    if (name == "holdfast") return holdfast_layout();
    if (name == "plain") return plain_layout();
    throw Error(errc::bad_configuration, url.shown + ": the parameter layout is '" + name +
                                             "'; give holdfast, plain or redisson");
}

}  // namespace

std::shared_ptr<Store> open_redis(const StoreUrl& url) {
    const auto store = std::make_shared<RedisStore>(address_of(url), layout_of(url));
    store->connect();
    return store;
}

}  // namespace holdfast::inline v0::redis
