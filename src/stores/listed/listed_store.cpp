#include "stores/listed/listed_store.hpp"

#include <utility>

namespace holdfast::inline v0::listed {

namespace {

class ListedStore final : public Store {
public:
    explicit ListedStore(std::shared_ptr<Protocol> protocol)
        : protocol_(std::move(protocol)), description_(protocol_->shown()) {}
    ~ListedStore() override { protocol_->close(); }

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override {
        protocol_->lines.tidy();
        const auto flight = std::make_shared<Protocol::EntryFlight>(protocol_->wire());
        flight->on_orphan(taking_out(contenders));
        protocol_->enter(contenders, flight);
        return Pending<std::vector<Entry>>(flight);
    }
    Pending<Standing> standing(const Ticket& ticket) override {
        protocol_->lines.tidy();
        const auto entrant = protocol_->lines.entrants.find(ticket.nonce);
        if (!entrant) return Standing{};
        return protocol_->look_at(*entrant);
    }
    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override {
        return protocol_->lines.watch(ticket.nonce, std::move(line_moved));
    }
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override {
        protocol_->lines.tidy();
        return protocol_->renew(tickets, extension);
    }
    Pending<Standing> leave(const Ticket& ticket) override {
        protocol_->lines.tidy();
        return protocol_->leave(ticket);
    }
    Pending<std::vector<Line>> inspect(std::string prefix) override {
        return protocol_->inspect(std::move(prefix));
    }
    Pending<std::vector<Line>> look_at(const std::string& resource) override {
        return protocol_->inspect_one(resource);
    }
    Capabilities capabilities() const override { return protocol_->capabilities(); }
    Result<Examination> examine() override { return protocol_->examine(); }
    /// A client has several sessions, or calls that are independent of each other; and one verb may
    /// take several requests.
    bool in_order() const noexcept override { return false; }
    Wire& wire() override { return protocol_->wire(); }
    const std::string& description() const override { return description_; }

private:
    /// What is done about an answer to enter that nobody wants any more.
    Callback<void(Result<std::vector<Entry>>)> taking_out(
        std::span<const Contender> contenders) const {
        std::vector<Ticket> tickets;
        for (const Contender& one : contenders) tickets.push_back({one.resource, one.nonce, {}});
        return [weak = std::weak_ptr(protocol_),
                tickets = std::move(tickets)](const Result<std::vector<Entry>>& result) {
            const auto protocol = weak.lock();
            const bool untouched = !result.ok() && result.failure().effect == Effect::none;
            if (!protocol || untouched) return;
            for (const Ticket& ticket : tickets) {
                protocol->leave(ticket).then([](const Result<Standing>&) {});
            }
        };
    }

    const std::shared_ptr<Protocol> protocol_;
    const std::string description_;
};

}  // namespace

std::shared_ptr<Store> store_on(std::shared_ptr<Protocol> protocol) {
    return std::make_shared<ListedStore>(std::move(protocol));
}

}  // namespace holdfast::inline v0::listed
