#include "stores/redlock/redlock_store.hpp"

#include <cassert>
#include <utility>
#include <vector>

#include <holdfast/error.hpp>

#include "stores/redlock/candidacy.hpp"
#include "stores/redlock/candidates.hpp"
#include "stores/redlock/checkup.hpp"
#include "stores/redlock/desk.hpp"
#include "stores/redlock/entering.hpp"
#include "stores/redlock/founding.hpp"
#include "stores/redlock/greeting.hpp"
#include "stores/redlock/nodes.hpp"
#include "stores/redlock/promises.hpp"
#include "stores/redlock/redlock_wire.hpp"
#include "stores/redlock/renewing.hpp"
#include "stores/redlock/survey.hpp"
#include "stores/redlock/waiting.hpp"

namespace holdfast::inline v0::redlock {

namespace {

using State = Standing::State;
using Calls = Requests::Calls;

class RedlockStore final : public Store, public std::enable_shared_from_this<RedlockStore> {
public:
    explicit RedlockStore(const Nodes& nodes)
        : nodes_(nodes),
          description_(nodes.shown()),
          requests_(nodes.terms, nodes.set),
          acquaintance_(nodes.terms),
          candidates_(nodes.terms.max_lease),
          wire_(nodes, requests_.channel()) {}

    void connect();

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override;
    Pending<Standing> standing(const Ticket& ticket) override;
    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override {
        return waiting_.watch(ticket, std::move(line_moved));
    }
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override {
        return renewing_.renew(desk(), tickets, extension);
    }
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

private:
    Desk desk() { return {wire_, requests_, acquaintance_, description_, weak_from_this()}; }

    void forget(const Nonce& nonce) {
        waiting_.forget(nonce);
        candidates_.forget(nonce);
    }

    const Nodes nodes_;
    const std::string description_;
    const Requests requests_;
    Acquaintance acquaintance_;
    Candidates candidates_;
    Waiting waiting_{wire_, candidates_, nodes_.terms};
    Entering entering_{candidates_, waiting_};
    Renewing renewing_{candidates_, waiting_, entering_};
    RedlockWire wire_;
};

}  // namespace

void RedlockStore::connect() {
    waiting_.begin(weak_from_this());
    const auto outcome = std::make_shared<Greeting>(desk())->begin().get();
    if (!outcome.ok()) throw Error(outcome.failure().code, outcome.failure().sentence);
}

Capabilities RedlockStore::capabilities() const {
    Capabilities can = redlock::capabilities;
    can.longest_lease = requests_.terms().max_lease;
    return can;
}

Pending<std::vector<Entry>> RedlockStore::enter(std::span<const Contender> contenders) {
    assert(contenders.size() == 1);
    for (const Nonce& nonce : candidates_.forget_left_over(BootClock::now())) {
        waiting_.forget(nonce);
    }
    const Contender& one = contenders.front();
    if (one.patience == Patience::wait) waiting_.expect(one);
    const auto candidate =
        candidates_.add(std::make_shared<Profile>(requests_.profile_of(one)), one.nonce, one.lease);
    const auto flight = std::make_shared<Entering::EntryFlight>(wire_);
    flight->on_orphan([weak = weak_from_this(), candidate](const auto& result) {
        const auto self = weak.lock();
        const bool may_be_in = result.ok() || result.failure().effect == Effect::unknown;
        if (!self || !may_be_in) return;
        self->leave({candidate->profile->resource, candidate->nonce, {}}).then([](const auto&) {});
    });
    entering_.enter(desk(), candidate, one.patience, flight);
    return Pending<std::vector<Entry>>(flight);
}

/// Of one that waits the nodes know nothing: its look is a try, as any claim is. Of one that holds
/// its fence is what a majority has been told, and not what some of them say.
Pending<Standing> RedlockStore::standing(const Ticket& ticket) {
    if (const auto candidate = candidates_.find(ticket.nonce)) {
        const auto lock = candidates_.lock();
        candidate->has_reason = true;
        return candidate->holds() ? Entering::standing_of(*candidate)
                                  : Standing{.state = State::offered};
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
    // Memory was out before it entered.
    if (candidate && !last_try) {
        forget(ticket.nonce);
        return Standing{};
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
