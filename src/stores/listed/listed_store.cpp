#include "stores/listed/listed_store.hpp"

namespace holdfast::inline v0::listed {

Pending<std::vector<Entry>> ListedStore::enter(std::span<const Contender> contenders) {
    protocol_->lines.tidy();
    const auto flight = std::make_shared<Protocol::EntryFlight>(protocol_->wire());
    std::vector<Ticket> tickets;
    for (const Contender& one : contenders) tickets.push_back({one.resource, one.nonce, {}});
    flight->on_orphan([weak = std::weak_ptr(protocol_),
                       tickets = std::move(tickets)](const Result<std::vector<Entry>>& result) {
        const auto protocol = weak.lock();
        const bool untouched = !result.ok() && result.failure().effect == Effect::none;
        if (!protocol || untouched) return;
        for (const Ticket& ticket : tickets) {
            protocol->leave(ticket).then([](const Result<Standing>&) {});
        }
    });
    protocol_->enter(contenders, flight);
    return Pending<std::vector<Entry>>(flight);
}

Pending<Standing> ListedStore::standing(const Ticket& ticket) {
    protocol_->lines.tidy();
    const auto entrant = protocol_->lines.entrants.find(ticket.nonce);
    if (!entrant) return Standing{};
    return protocol_->look_at(*entrant);
}

Pending<std::vector<Standing>> ListedStore::renew(std::span<const Ticket> tickets,
                                                  Extension extension) {
    protocol_->lines.tidy();
    return protocol_->renew(tickets, extension);
}

Pending<Standing> ListedStore::leave(const Ticket& ticket) {
    protocol_->lines.tidy();
    return protocol_->leave(ticket);
}

}  // namespace holdfast::inline v0::listed
