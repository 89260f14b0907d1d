#include "stores/etcd/etcd_store.hpp"

#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include <cstdlib>
#include <utility>

#include <holdfast/error.hpp>

#include "stores/etcd/common.hpp"
#include "stores/etcd/entering.hpp"
#include "stores/etcd/leaving.hpp"
#include "stores/etcd/listing.hpp"
#include "stores/etcd/looking.hpp"
#include "stores/etcd/renewing.hpp"

namespace holdfast::inline v0::etcd {

namespace {

using State = Standing::State;

class EtcdStore final : public Store {
public:
    explicit EtcdStore(Cluster cluster)
        : description_(cluster.shown()), common_(std::make_shared<Common>(std::move(cluster))) {
        common_->wire.listen(common_);
    }
    ~EtcdStore() override { common_->say_goodbye(); }

    /// Throws Error when no member can be reached in the time of a request, or none lets us in.
    void connect(const std::string& prefix);

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override;
    Pending<Standing> standing(const Ticket& ticket) override;
    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override;
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override {
        common_->tidy();
        return renew_all(common_, tickets, extension);
    }
    Pending<Standing> leave(const Ticket& ticket) override {
        common_->tidy();
        return leave_line(common_, ticket);
    }
    Pending<std::vector<Line>> inspect(std::string prefix) override {
        return list_lines(common_, prefix);
    }
    Pending<std::vector<Line>> look_at(const std::string& resource) override {
        return list_line(common_, resource);
    }
    Capabilities capabilities() const override {
        return {.fifo = true, .shared = true, .permits = true, .enter_together = true};
    }
    Wire& wire() override { return common_->wire; }
    const std::string& description() const override { return description_; }

private:
    const std::string description_;
    const std::shared_ptr<Common> common_;
};

void EtcdStore::connect(const std::string& prefix) {
    const auto flight = std::make_shared<Flight<bool>>(common_->wire);
    messages::RangeRequest request;
    request.set_key(prefix.empty() ? "holdfast" : prefix);
    request.set_keys_only(true);
    common_->submit(std::move(request), [flight](Common&, const auto& answer) {
        // That a user may not read this key does not mean that he may use none.
        const bool known = answer.refusal == Refusal::denied;
        if (!answer.result.ok() && !known) return flight->complete(answer.result.failure());
        flight->complete(true);
    });
    const auto connected = Pending<bool>(flight).get();
    if (!connected.ok()) throw Error(connected.failure().code, connected.failure().sentence);
}

Pending<std::vector<Entry>> EtcdStore::enter(std::span<const Contender> contenders) {
    common_->tidy();
    const auto flight = std::make_shared<Flight<std::vector<Entry>>>(common_->wire);
    std::vector<Ticket> tickets;
    for (const Contender& one : contenders) tickets.push_back({one.resource, one.nonce, {}});
    flight->on_orphan(
        [weak = std::weak_ptr(common_), tickets = std::move(tickets)](const auto& result) {
            const auto common = weak.lock();
            if (!common) return;
            const bool untouched = !result.ok() && result.failure().effect == Effect::none;
            if (untouched) return;
            for (const Ticket& ticket : tickets) {
                leave_line(common, ticket).then([](const Result<Standing>&) {});
            }
        });
    std::make_shared<Entering>(common_, contenders, flight)->start();
    return Pending<std::vector<Entry>>(flight);
}

Pending<Standing> EtcdStore::standing(const Ticket& ticket) {
    common_->tidy();
    const auto member = common_->roster.find(ticket.nonce);
    if (!member) return Standing{};
    return look_at_member(common_, *member);
}

std::unique_ptr<Watch> EtcdStore::watch(const Ticket& ticket, LineMoved line_moved) {
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

/// What went wrong is told to whoever asked, and not to standard error as well. Where somebody else
/// in this process uses gRPC, or has said what it is to say, that is left alone.
void keep_grpc_quiet() {
    if (grpc_is_initialized() == 0 && std::getenv("GRPC_VERBOSITY") == nullptr) {
        gpr_set_log_function([](gpr_log_func_args*) {});
    }
}

}  // namespace

std::shared_ptr<Store> open_etcd(const StoreUrl& url) {
    keep_grpc_quiet();
    const auto store = std::make_shared<EtcdStore>(cluster_of(url));
    store->connect(url.prefix());
    return store;
}

}  // namespace holdfast::inline v0::etcd
