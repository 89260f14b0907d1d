#include "stores/sql/calls.hpp"

#include "stores/sql/words.hpp"

namespace holdfast::inline v0::sql {

Call enter(std::span<const Contender> contenders, const std::string& client) {
    Call call{.verb = "enter", .rows = {}};
    call.rows.reserve(contenders.size());
    for (const Contender& one : contenders) {
        call.rows.push_back({escaped(one.resource), hex_of(one.nonce), client, escaped(one.owner),
                             escaped(one.host), std::to_string(one.pid), std::to_string(one.weight),
                             std::to_string(one.capacity),
                             one.fairness == Fairness::fifo ? "f" : "b",
                             one.patience == Patience::wait ? "w" : "n",
                             std::to_string(one.lease.count()), one.reenter ? "1" : "0"});
    }
    return call;
}

Call standing(const Ticket& ticket) {
    return {.verb = "standing", .rows = {{escaped(ticket.resource), hex_of(ticket.nonce)}}};
}

Call renew(std::span<const Ticket> tickets, std::chrono::milliseconds lease) {
    Call call{.verb = "renew", .rows = {}};
    call.rows.reserve(tickets.size());
    const std::string milliseconds = std::to_string(lease.count());
    for (const Ticket& ticket : tickets) {
        call.rows.push_back({escaped(ticket.resource), hex_of(ticket.nonce), milliseconds});
    }
    return call;
}

Call leave(const Ticket& ticket, std::chrono::milliseconds tombstone) {
    return {.verb = "leave",
            .rows = {{escaped(ticket.resource), hex_of(ticket.nonce),
                      std::to_string(tombstone.count())}}};
}

Call inspect(std::string_view prefix) {
    return {.verb = "inspect", .rows = {{escaped(prefix)}}};
}

Call look_at(std::string_view resource) {
    return {.verb = "look_at", .rows = {{escaped(resource)}}};
}

}  // namespace holdfast::inline v0::sql
