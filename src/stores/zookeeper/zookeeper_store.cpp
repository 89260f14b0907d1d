#include "stores/zookeeper/zookeeper_store.hpp"

#include <utility>

#include <holdfast/error.hpp>

#include "stores/zookeeper/common.hpp"
#include "stores/zookeeper/entering.hpp"
#include "stores/zookeeper/failures.hpp"
#include "stores/zookeeper/leaving.hpp"
#include "stores/zookeeper/listing.hpp"
#include "stores/zookeeper/renewing.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

using State = Standing::State;

class ZookeeperStore final : public Store {
public:
    explicit ZookeeperStore(Ensemble ensemble)
        : description_(ensemble.shown()), common_(std::make_shared<Common>(std::move(ensemble))) {
        common_->wire.listen(common_);
    }

    /// Throws Error when no server can be reached, or none lets us in.
    void connect();

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override;
    Pending<Standing> standing(const Ticket& ticket) override;
    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override;
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override {
        common_->tidy();
        return renew_all(common_, tickets, extension.lease);
    }
    Pending<Standing> leave(const Ticket& ticket) override {
        common_->tidy();
        return leave_line(common_, ticket);
    }
    Pending<std::vector<Line>> inspect(std::string prefix) override {
        return list_lines(common_, std::move(prefix));
    }
    Pending<std::vector<Line>> look_at(const std::string& resource) override {
        return list_line(common_, resource);
    }
    Capabilities capabilities() const override;
    Wire& wire() override { return common_->wire; }
    const std::string& description() const override { return description_; }

private:
    Pending<Standing> standing_of_barging(const Member& member);

    const std::string description_;
    const std::shared_ptr<Common> common_;
};

void ZookeeperStore::connect() {
    const auto flight = std::make_shared<Flight<bool>>(common_->wire);
    // An answer also to what was said of the user, which comes before it.
    common_->submit(common_->wire.any_term(), {.operations = {catch_up()}},
                    [flight](Common&, const Answer& answer) {
                        if (!answer.result.ok()) return flight->complete(answer.result.failure());
                        flight->complete(true);
                    });
    const auto connected = Pending<bool>(flight).get();
    if (!connected.ok()) throw Error(connected.failure().code, connected.failure().sentence);
}

Capabilities ZookeeperStore::capabilities() const {
    return {.fifo = true,
            .barging = true,
            .barging_shares = false,
            .default_fairness = Fairness::fifo,
            .shared = true,
            .permits = true,
            .lengthens = false,
            .longest_lease = common_->wire.longest_session(),
            .longest_lease_is = "the longest session that ZooKeeper grants"};
}

Pending<std::vector<Entry>> ZookeeperStore::enter(std::span<const Contender> contenders) {
    common_->tidy();
    const Contender& contender = contenders.front();
    const auto flight = std::make_shared<Flight<std::vector<Entry>>>(common_->wire);
    flight->on_orphan(
        [weak = std::weak_ptr(common_),
         ticket = Ticket{contender.resource, contender.nonce, {}}](const auto& result) {
            const auto common = weak.lock();
            if (!common) return;
            const bool untouched = !result.ok() && result.failure().effect == Effect::none;
            if (!untouched) leave_line(common, ticket).then([](const Result<Standing>&) {});
        });
    std::make_shared<Entering>(common_, contender, flight)->start();
    return Pending<std::vector<Entry>>(flight);
}

Pending<Standing> ZookeeperStore::standing(const Ticket& ticket) {
    common_->tidy();
    const auto member = common_->roster.find(ticket.nonce);
    if (!member) return Standing{};
    if (member->node.empty()) return standing_of_barging(*member);
    // It is told by the session's end, which is about to be told itself.
    if (!common_->is_of_present_session(*member)) return Standing{};
    if (member->its_turn) return common_->its_turn(*member);
    const auto flight = std::make_shared<Flight<Standing>>(common_->wire);
    Operation look =
        member->is_barging() ? look_at_node(member->node) : list_children(member->path);
    common_->submit(common_->term_of(*member), {.operations = {std::move(look)}},
                    [nonce = member->nonce(), flight](Common& alive, const Answer& answer) {
                        if (!answer.result.ok()) return flight->complete(answer.result.failure());
                        const Reply& reply = answer.result.value().front();
                        if (tells_nothing(reply.refusal)) {
                            return flight->complete(failure_of(reply.refusal, alive.ensemble()));
                        }
                        const auto present = alive.roster.find(nonce);
                        if (!present || present->session != answer.session) {
                            return flight->complete(Standing{});
                        }
                        flight->complete(alive.stands(*present, reply));
                    });
    return Pending<Standing>(flight);
}

/// Whoever is woken tries to take it.
Pending<Standing> ZookeeperStore::standing_of_barging(const Member& member) {
    const auto entered = std::make_shared<Flight<std::vector<Entry>>>(common_->wire);
    const auto flight = std::make_shared<Flight<Standing>>(common_->wire);
    Pending<std::vector<Entry>> entering(entered);
    std::make_shared<Entering>(common_, member.contender, entered)->start();
    std::move(entering).then([flight, weak = std::weak_ptr(common_),
                              nonce = member.nonce()](const Result<std::vector<Entry>>& result) {
        if (!result.ok()) return flight->complete(result.failure());
        if (const auto common = weak.lock()) common->arm(nonce);
        Standing standing = result.value().front().standing;
        standing.counted_from.reset();
        flight->complete(standing);
    });
    return Pending<Standing>(flight);
}

std::unique_ptr<Watch> ZookeeperStore::watch(const Ticket& ticket, LineMoved line_moved) {
    auto watch = common_->watchers->add(ticket.nonce, std::move(line_moved));
    if (!common_->roster.find(ticket.nonce)) {
        common_->watchers->call(ticket.nonce, {});
        return watch;
    }
    common_->arm(ticket.nonce);
    // What stirred before somebody watched.
    if (common_->roster.take_stir(ticket.nonce)) {
        common_->watchers->call(ticket.nonce, {.state = State::waiting});
    }
    return watch;
}

}  // namespace

std::shared_ptr<Store> open_zookeeper(const StoreUrl& url) {
    const auto store = std::make_shared<ZookeeperStore>(ensemble_of(url));
    store->connect();
    return store;
}

}  // namespace holdfast::inline v0::zookeeper
