#include "stores/memcached/memcached_store.hpp"

#include <algorithm>
#include <cassert>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <holdfast/error.hpp>

#include "stores/memcached/applicants.hpp"
#include "stores/memcached/checkup.hpp"
#include "stores/memcached/dealing.hpp"
#include "stores/memcached/item.hpp"
#include "stores/memcached/memcached_wire.hpp"
#include "stores/memcached/promises.hpp"
#include "stores/memcached/renewing.hpp"

namespace holdfast::inline v0::memcached {

namespace {

using State = Standing::State;

/// How often one that nobody wants is tried to be taken out. Each try is as patient as any request.
constexpr int most_withdrawals = 20;

class MemcachedStore final : public Store, public std::enable_shared_from_this<MemcachedStore> {
public:
    MemcachedStore(const Servers& servers, std::unique_ptr<Layout> layout)
        : description_(servers.shown()),
          layout_(std::move(layout)),
          servers_(servers),
          wire_(servers) {}

    void connect();

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override;
    Pending<Standing> standing(const Ticket& ticket) override;
    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override {
        return applicants_.watch(ticket, std::move(line_moved));
    }
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override;
    Pending<Standing> leave(const Ticket& ticket) override;
    Pending<std::vector<Line>> inspect(std::string /*prefix*/) override;
    Pending<std::vector<Line>> look_at(const std::string& resource) override;

    Capabilities capabilities() const override { return memcached::capabilities; }
    Result<Examination> examine() override { return memcached::examine(servers_); }
    /// A release that meets a renewal of its own looks for its item before it deletes that.
    bool in_order() const noexcept override { return false; }
    MemcachedWire& wire() override { return wire_; }
    const std::string& description() const override { return description_; }

private:
    Desk desk() { return {wire_, applicants_, description_, weak_from_this()}; }
    using Who = std::shared_ptr<const Identity>;
    Who who_is(const Contender& contender) const {
        return std::make_shared<Identity>(identity_of(contender, *layout_));
    }
    Who who_is(const Ticket& ticket, const std::optional<Applicant>& applicant) const {
        return applicant ? applicant->who
                         : std::make_shared<Identity>(identity_of(ticket, *layout_));
    }
    std::shared_ptr<Dealing> dealing(Who who, Dealing::Told told) {
        return std::make_shared<Dealing>(desk(), std::move(who), std::move(told));
    }

    Result<std::vector<Entry>> entered(const Who& who, Patience patience,
                                       const Result<Standing>& result);
    void withdraw(const Ticket& ticket, int tries = most_withdrawals);
    std::optional<Standing> known_of(const Applicant& applicant,
                                     std::chrono::milliseconds lease) const;
    void renew(const Ticket& ticket, const std::shared_ptr<Renewing>& renewing, std::size_t which);
    Failure refused(std::string objection) const {
        return {errc::invalid_argument, Effect::none, std::move(objection)};
    }

    const std::string description_;
    const std::unique_ptr<const Layout> layout_;
    const Servers servers_;
    Applicants applicants_;
    MemcachedWire wire_;
};

}  // namespace

// --- entering ---

void MemcachedStore::connect() {
    const auto greeted = std::make_shared<Greeting>(wire_, wire_.servers());
    wire_.greet([greeted](const Answer& answer) { greeted->take(answer); });
    const auto outcome = Pending<bool>({greeted, &greeted->flight}).get();
    if (!outcome.ok()) throw Error(outcome.failure().code, outcome.failure().sentence);
}

Pending<std::vector<Entry>> MemcachedStore::enter(std::span<const Contender> contenders) {
    assert(contenders.size() == 1);
    const Contender& one = contenders.front();
    if (auto objection = layout_->objection_to(one.resource)) return refused(*std::move(objection));
    const Who who = who_is(one);
    applicants_.enter(who, one.lease);
    const auto flight = std::make_shared<Flight<std::vector<Entry>>>(wire_);
    flight->on_orphan([weak = weak_from_this(), who](const auto& result) {
        const auto self = weak.lock();
        const bool may_be_in = result.ok() || result.failure().effect == Effect::unknown;
        if (self && may_be_in) self->withdraw({who->resource, who->nonce, {}});
    });
    const auto told = [this, flight, who, patience = one.patience](const Result<Standing>& result) {
        flight->complete_with([&] { return entered(who, patience, result); });
    };
    dealing(who, told)->take(one.lease);
    return Pending<std::vector<Entry>>(flight);
}

Result<std::vector<Entry>> MemcachedStore::entered(const Who& who, Patience patience,
                                                   const Result<Standing>& result) {
    if (!result.ok()) {
        if (result.failure().effect == Effect::none) applicants_.forget(who->nonce);
        return result.failure();
    }
    std::vector<Entry> entries{{{who->resource, who->nonce, who->value}, result.value()}};
    Standing& standing = entries.front().standing;
    if (standing.state != State::admitted && patience == Patience::none) {
        const auto applicant = applicants_.forget(who->nonce);
        if (applicant && applicant->may_come_late()) keep_vigil(desk(), who);
        standing = {};
    }
    return entries;
}

/// Nobody wants it any more.
void MemcachedStore::withdraw(const Ticket& ticket, int tries) {
    leave(ticket).then([weak = weak_from_this(), ticket, tries](const Result<Standing>& result) {
        const auto self = weak.lock();
        if (self && !result.ok() && tries > 1) self->withdraw(ticket, tries - 1);
    });
}

// --- waiting and holding ---

Pending<Standing> MemcachedStore::standing(const Ticket& ticket) {
    const auto applicant = applicants_.find(ticket.nonce);
    const auto flight = std::make_shared<Flight<Standing>>(wire_);
    const auto one = dealing(who_is(ticket, applicant), [flight](Result<Standing> result) {
        flight->complete(std::move(result));
    });
    if (applicant && !applicant->version) {
        one->look(applicant->lease);
    } else {
        one->find();
    }
    return Pending<Standing>(flight);
}

Pending<std::vector<Standing>> MemcachedStore::renew(std::span<const Ticket> tickets,
                                                     Extension extension) {
    const auto renewing = std::make_shared<Renewing>(wire_, tickets.size(), extension.lease);
    for (std::size_t i = 0; i < tickets.size(); ++i) renew(tickets[i], renewing, i);
    if (auto outcome = renewing->asked_all()) return *std::move(outcome);
    return Pending<std::vector<Standing>>({renewing, &renewing->flight});
}

/// Where nothing need be asked: it is none of ours, or waits and has just looked.
std::optional<Standing> MemcachedStore::known_of(const Applicant& applicant,
                                                 std::chrono::milliseconds lease) const {
    const bool has_just_looked = BootClock::now() - applicant.heard < lease / 2;
    if (applicant.version || applicant.finds_it_free || !has_just_looked) return std::nullopt;
    return Standing{.state = State::waiting, .counted_from = applicant.heard};
}

void MemcachedStore::renew(const Ticket& ticket, const std::shared_ptr<Renewing>& renewing,
                           std::size_t which) {
    const auto applicant = applicants_.find(ticket.nonce);
    if (!applicant) return renewing->know(which, Standing{});
    const auto lease = renewing->lease;
    if (const auto known = known_of(*applicant, lease)) return renewing->know(which, *known);
    renewing->ask(which);
    const auto one = dealing(applicant->who, [renewing, which](Result<Standing> result) {
        renewing->take(which, std::move(result));
    });
    if (wire_.servers() > 1) one->be_patient_until(renewing->until());
    if (applicant->version) return one->keep(*applicant->version, lease);
    if (applicant->finds_it_free) return one->take(lease);
    one->look(lease);
}

// --- leaving ---

Pending<Standing> MemcachedStore::leave(const Ticket& ticket) {
    const auto applicant = applicants_.forget(ticket.nonce);
    const Who who = who_is(ticket, applicant);
    const bool may_come_late = ticket.place.empty() || (applicant && applicant->may_come_late());
    const bool waits = applicant && !applicant->version;
    if (waits && !may_come_late) return Standing{.state = State::waiting};
    const auto flight = std::make_shared<Flight<Standing>>(wire_);
    const auto told = [this, flight, who, may_come_late](const Result<Standing>& result) {
        flight->complete_with([&] {
            // Not before: it would end the item, and the release would find that gone.
            if (may_come_late) keep_vigil(desk(), who);
            const bool free = result.ok() && result.value().state == State::admitted;
            if (free) applicants_.given_back(who->resource);
            return result;
        });
    };
    const auto one = dealing(who, told);
    if (applicant && applicant->version) {
        one->give_back(*applicant->version);
    } else {
        one->take_out(waits ? State::waiting : State::gone);
    }
    return Pending<Standing>(flight);
}

// --- listing ---

Pending<std::vector<Line>> MemcachedStore::inspect(std::string /*prefix*/) {
    return Failure{errc::not_supported, Effect::none,
                   description_ +
                       " cannot list its locks: memcached tells what is under one key, and not "
                       "which keys there are; ask for one by its name (holdfast show NAME)"};
}

namespace {

Result<std::vector<Line>> line_in(const std::string& resource, const Answer& answer) {
    if (!answer.result.ok()) return answer.result.failure();
    const Reply& reply = answer.result.value();
    if (reply.kind != Reply::Kind::value) return std::vector<Line>();
    Place holder =
        place_in(resource, reply.text, {.cas = reply.cas, .connection = reply.connection});
    // What a server says may be more than milliseconds can count.
    constexpr std::int64_t a_century = 3'200'000'000;
    holder.lease_left =
        std::chrono::seconds{std::clamp<std::int64_t>(reply.seconds.value_or(0), -1, a_century)};
    return std::vector{Line{.resource = resource,
                            .capacity = all,
                            .fairness = Fairness::barging,
                            .holders = {std::move(holder)},
                            .waiters = {}}};
}

}  // namespace

Pending<std::vector<Line>> MemcachedStore::look_at(const std::string& resource) {
    if (auto objection = layout_->objection_to(resource)) return refused(*std::move(objection));
    const auto flight = std::make_shared<Flight<std::vector<Line>>>(wire_);
    const std::string key = layout_->key_of(resource);
    wire_.submit(key, Command::look(key),
                 [weak = weak_from_this(), flight, resource](const Answer& answer) {
                     const auto self = weak.lock();
                     if (self) flight->complete_with([&] { return line_in(resource, answer); });
                 });
    return Pending<std::vector<Line>>(flight);
}

std::shared_ptr<Store> open_memcached(const StoreUrl& url) {
    const auto store = std::make_shared<MemcachedStore>(servers_of(url), layout_of(url));
    store->connect();
    return store;
}

}  // namespace holdfast::inline v0::memcached
