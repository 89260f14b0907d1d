#include "stores/ledger/ledger.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>
#include <utility>

#include <holdfast/error.hpp>

#include "port/sentences.hpp"

namespace holdfast::inline v0::ledger {

namespace {

std::string place_of(std::uint64_t ticket) {
    std::string place(sizeof ticket, '\0');
    std::memcpy(place.data(), &ticket, sizeof ticket);
    return place;
}

std::uint64_t from_place(std::string_view place) {
    std::uint64_t ticket = 0;
    std::memcpy(&ticket, place.data(), std::min(place.size(), sizeof ticket));
    return ticket;
}

/// Where a client's waiter stands, as index_key() has it.
struct Indexed {
    ResourceId line{};
    std::uint64_t ticket = 0;
};

Indexed indexed(std::string_view value) {
    Indexed where;
    std::memcpy(where.line.data(), value.data(), where.line.size());
    std::memcpy(&where.ticket, value.data() + where.line.size(), sizeof where.ticket);
    where.ticket = __builtin_bswap64(where.ticket);
    return where;
}

Standing admitted(std::uint64_t fence) {
    return {.state = Standing::State::admitted, .fence = fence};
}

Standing waiting(const LinePage& page, std::uint64_t ticket) {
    return {.state = Standing::State::waiting, .look_again = page.look_again(ticket)};
}

Entry entry(const Contender& contender, std::uint64_t ticket, Standing standing) {
    return {.ticket = {contender.resource, contender.nonce, place_of(ticket)},
            .standing = standing};
}

Place place(const LinePage& page, const Row<Record>& row, Moment now) {
    return {.ticket = {std::string(page.name()), row.fixed.nonce, place_of(row.fixed.ticket)},
            .owner = std::string(row.fixed.owner(row.text)),
            .weight = row.fixed.weight,
            .fence = row.fixed.fence,
            .lease_left = std::chrono::floor<std::chrono::milliseconds>(row.fixed.lease_end - now),
            .host = std::string(row.fixed.host(row.text)),
            .pid = row.fixed.pid,
            .age = std::chrono::floor<std::chrono::milliseconds>(now - row.fixed.since)};
}

/// No host that gethostname(2) gives is longer.
constexpr std::size_t longest_host = std::numeric_limits<std::uint8_t>::max();

Record record_of(const Contender& contender, ClientId client, Moment now) {
    return {.nonce = contender.nonce,
            .client = client,
            .weight = contender.weight,
            .lease_end = now + contender.lease,
            .since = now,
            .host_size = static_cast<std::uint8_t>(std::min(contender.host.size(), longest_host)),
            .pid = contender.pid};
}

/// What follows the record.
std::string text_of(const Contender& contender) {
    return contender.host.substr(0, longest_host) + contender.owner;
}

}  // namespace

Result<std::vector<Entry>> Ledger::enter(std::span<const Contender> contenders) {
    std::vector<Entry> entries;
    entries.reserve(contenders.size());
    const auto take_back = [&] {
        for (const Entry& taken : entries) leave(taken.ticket);
    };
    for (const Contender& contender : contenders) {
        auto result = enter(contender);
        if (!result.ok()) {
            take_back();
            return result.failure();
        }
        if (result.value().standing.state == Standing::State::gone) take_back();
        entries.push_back(std::move(result).value());
        if (entries.back().standing.state != Standing::State::admitted) break;
    }
    return entries;
}

Result<Entry> Ledger::enter(const Contender& contender) {
    if (has_tombstone(contender.nonce)) {
        return withdrawn();
    }
    LinePage page(scene_, told_, contender.resource);
    auto result = enter_line(page, contender);
    page.save();
    return result;
}

/// The ticket of a contender that entered with an earlier copy of this request.
std::optional<std::uint64_t> Ledger::repeated(const LinePage& page, const Contender& contender) {
    if (const auto known = page.holder(contender.nonce)) return known->fixed.ticket;
    return ticket_of(page, {contender.resource, contender.nonce, {}});
}

Result<Entry> Ledger::enter_line(LinePage& page, const Contender& contender) {
    if (!page.empty()) {
        if (const auto ticket = repeated(page, contender)) {
            const Ticket known{contender.resource, contender.nonce, place_of(*ticket)};
            return entry(contender, *ticket, come_again(known, contender.lease));
        }
        page.advance();
    }
    if (page.empty()) page.start(contender.capacity, contender.fairness);
    if (page.head().capacity != contender.capacity || page.head().fairness != contender.fairness) {
        return conflict({page.head().capacity, page.head().fairness},
                        {contender.capacity, contender.fairness});
    }

    Record record = record_of(contender, client_, scene_.now);
    record.ticket = page.take_ticket();
    if (contender.reenter) {
        if (const auto joined = page.holder_of(contender.owner)) {
            if (contender.weight > joined->weight) return deadlock(contender.owner);
            record.weight = 0;
            record.fence = joined->fence;
        }
    }
    if (record.weight == 0 || page.admits(record.weight)) {
        if (record.weight > 0) record.fence = page.next_fence();
        record.phase = Phase::admitted;
        page.add_holder(record, text_of(contender));
        return entry(contender, record.ticket, admitted(record.fence));
    }
    if (contender.patience == Patience::none) return entry(contender, 0, Standing{});
    page.add_waiter(record, text_of(contender));
    return entry(contender, record.ticket, waiting(page, record.ticket));
}

Standing Ledger::standing(const Ticket& ticket) {
    LinePage page(scene_, told_, ticket.resource);
    if (page.empty()) return {};
    if (const auto held = page.holder(ticket.nonce);
        held && held->fixed.phase == Phase::offered && !held->fixed.over(scene_.now)) {
        return {.state = Standing::State::offered};
    }
    count_again(page, ticket);
    page.advance();
    page.save();
    if (const auto held = page.holder(ticket.nonce)) {
        if (held->fixed.phase == Phase::offered) return {.state = Standing::State::offered};
        return admitted(held->fixed.fence);
    }
    const auto waiter = waiter_of(page, ticket);
    if (!waiter || waiter->fixed.over(scene_.now)) return {};
    // Nothing is reserved under barging: its renewal decides.
    const bool unreserved = page.head().fairness == Fairness::barging;
    if (unreserved && page.has_room(waiter->fixed.weight)) {
        return {.state = Standing::State::offered};
    }
    return waiting(page, waiter->fixed.ticket);
}

/// Who asks is there: it is not passed over any more.
void Ledger::count_again(LinePage& page, const Ticket& ticket) {
    const auto waiter = waiter_of(page, ticket);
    if (!waiter || waiter->fixed.phase != Phase::lapsed || waiter->fixed.over(scene_.now)) return;
    Record record = waiter->fixed;
    record.phase = Phase::waiting;
    page.update(record);
}

Standing Ledger::renew(const Ticket& ticket, Extension extension) {
    return hear_of(ticket, [&](Record& record) {
        if (extension.serial < record.serial) return false;
        record.serial = extension.serial;
        record.lease_end = scene_.now + extension.lease;
        return true;
    });
}

/// Hears of a contender by a copy of its enter, which may be late: what it asks for is the least
/// that it has.
Standing Ledger::come_again(const Ticket& ticket, std::chrono::milliseconds lease) {
    return hear_of(ticket, [&](Record& record) {
        record.lease_end = std::max<Moment>(record.lease_end, scene_.now + lease);
        return true;
    });
}

/// `extend(record)` answers false when that is no news of the contender.
template <class Extend>
Standing Ledger::hear_of(const Ticket& ticket, Extend extend) {
    LinePage page(scene_, told_, ticket.resource);
    if (page.empty()) return {};
    std::optional<Row<Record>> row = page.holder(ticket.nonce);
    if (!row) row = waiter_of(page, ticket);
    if (!row) return {};
    if (row->fixed.over(scene_.now)) {
        leave(ticket);
        return {};
    }
    Record record = row->fixed;
    if (!extend(record)) return standing(ticket);
    if (record.phase == Phase::lapsed) record.phase = Phase::waiting;
    const Standing now = claim(page, record);
    page.save();
    // It learns of its own turn from this answer.
    std::erase_if(told_, [&](const Told& told) { return told.nonce == ticket.nonce; });
    return now;
}

/// Admits whom a place is reserved for, or who may take a free one.
Standing Ledger::claim(LinePage& page, Record record) {
    if (record.phase == Phase::waiting) {
        page.update(record);
        page.advance();
        if (const auto offered = page.holder(record.nonce)) {
            record = offered->fixed;
        } else if (page.head().fairness == Fairness::barging && page.has_room(record.weight)) {
            record.fence = page.next_fence();
            record.since = scene_.now;
            page.promote(record, Phase::admitted);
            return admitted(record.fence);
        } else {
            return waiting(page, record.ticket);
        }
    }
    if (record.phase == Phase::offered) {
        record.phase = Phase::admitted;
        record.fence = page.next_fence();
        record.since = scene_.now;
    }
    page.update(record);
    return admitted(record.fence);
}

Standing Ledger::leave(const Ticket& ticket) {
    if (ticket.place.empty()) plant_tombstone(ticket.nonce);
    LinePage page(scene_, told_, ticket.resource);
    if (page.empty()) return {};
    Standing standing;
    if (const auto held = page.holder(ticket.nonce)) {
        const Record record = held->fixed;
        if (!record.over(scene_.now)) {
            standing = record.phase == Phase::offered ? Standing{.state = Standing::State::offered}
                                                      : admitted(record.fence);
        }
        page.remove_holder(record);
    } else if (const auto waiter = waiter_of(page, ticket)) {
        const Record record = waiter->fixed;
        if (!record.over(scene_.now)) standing.state = Standing::State::waiting;
        page.remove_waiter(record);
    } else {
        return {};
    }
    page.advance();
    page.save();
    return standing;
}

/// A ticket whose enter was never answered is found by its nonce, among the asking client's own.
std::optional<std::uint64_t> Ledger::ticket_of(const LinePage& page, const Ticket& ticket) {
    if (!ticket.place.empty()) return from_place(ticket.place);
    const auto value = scene_.table.get(index_key(client_, ticket.nonce));
    if (!value) return std::nullopt;
    const Indexed found = indexed(*value);
    return found.line == page.id() ? std::optional(found.ticket) : std::nullopt;
}

std::optional<Row<Record>> Ledger::waiter_of(const LinePage& page, const Ticket& ticket) {
    const auto number = ticket_of(page, ticket);
    return number ? page.waiter(*number, ticket.nonce) : std::nullopt;
}

std::vector<Line> Ledger::inspect(std::string_view prefix) {
    std::vector<Line> lines;
    scene_.table.for_each(Key('a'), [&](const Table::Row& row) {
        ResourceId id;
        std::memcpy(id.data(), row.key.data() + 1, id.size());
        LinePage page(scene_, told_, id);
        if (!page.name().starts_with(prefix)) return;
        page.advance();
        page.save();
        Line line = listed(page);
        if (!line.holders.empty() || !line.waiters.empty()) lines.push_back(std::move(line));
    });
    std::ranges::sort(lines, {}, &Line::resource);
    return lines;
}

Line Ledger::listed(const LinePage& page) const {
    Line line{.resource = std::string(page.name()),
              .capacity = page.head().capacity,
              .fairness = page.head().fairness,
              .holders = {},
              .waiters = {}};
    auto holders = page.holders();
    std::ranges::sort(holders, {}, [](const auto& held) { return held.fixed.ticket; });
    for (const auto& held : holders) line.holders.push_back(place(page, held, scene_.now));
    for (const auto& waiter : page.waiters()) {
        if (!waiter.fixed.over(scene_.now)) line.waiters.push_back(place(page, waiter, scene_.now));
    }
    return line;
}

void Ledger::bury(ClientId client) {
    std::vector<Ticket> dead;
    const auto collect = [&](const ResourceId& id, const Nonce& nonce, std::uint64_t ticket) {
        const LinePage page(scene_, told_, id);
        dead.push_back({std::string(page.name()), nonce, place_of(ticket)});
    };
    scene_.table.for_each(Key('b'), [&](const Table::Row& row) {
        const Record record = Row<Record>::decode(row.value).fixed;
        if (record.client != client) return;
        ResourceId id;
        std::memcpy(id.data(), row.key.data() + 1, id.size());
        collect(id, record.nonce, record.ticket);
    });
    const Key own = Key('d') << client;
    const std::string_view prefix = own;
    scene_.table.for_each(prefix, [&](const Table::Row& row) {
        Nonce nonce;
        std::memcpy(nonce.bytes.data(), row.key.data() + prefix.size(), nonce.bytes.size());
        const Indexed where = indexed(row.value);
        collect(where.line, nonce, where.ticket);
    });
    // Waiters first, last one first: none of them is offered what a dead holder leaves.
    std::ranges::reverse(dead);
    for (const Ticket& ticket : dead) leave(ticket);
    std::erase_if(told_, [&](const Told& told) { return told.client == client; });
}

std::vector<ClientId> Ledger::ahead_of(const Ticket& ticket) {
    const LinePage page(scene_, told_, ticket.resource);
    const auto waiter = waiter_of(page, ticket);
    if (!waiter) return {};
    if (waiter->fixed.ahead != 0) return {waiter->fixed.ahead};
    std::vector<ClientId> clients;
    for (const auto& held : page.holders()) clients.push_back(held.fixed.client);
    std::ranges::sort(clients);
    const auto last = std::unique(clients.begin(), clients.end());
    clients.erase(last, clients.end());
    return clients;
}

bool Ledger::has_tombstone(const Nonce& nonce) {
    return scene_.table.get(tombstone_key(nonce)).has_value();
}

/// Plants one, and clears away those whose time is over.
void Ledger::plant_tombstone(const Nonce& nonce) {
    const auto number = [](Moment moment) {
        return static_cast<std::uint64_t>(moment.time_since_epoch().count());
    };
    for (auto row = scene_.table.at_or_after(Key('f')); row && row->key.front() == 'f';
         row = scene_.table.at_or_after(Key('f'))) {
        const std::string key(row->key);
        if (key >= std::string_view(tombstone_end_key(number(scene_.now), Nonce{}))) break;
        Nonce old;
        std::memcpy(old.bytes.data(), key.data() + 9, old.bytes.size());
        scene_.table.erase(key);
        scene_.table.erase(tombstone_key(old));
    }
    scene_.table.put(tombstone_key(nonce), "t");
    scene_.table.put(tombstone_end_key(number(scene_.now + tombstone_time), nonce), "t");
}

}  // namespace holdfast::inline v0::ledger
