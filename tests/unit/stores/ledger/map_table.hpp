#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "stores/ledger/ledger.hpp"

namespace holdfast::ledger {

/// A table in memory that shows what is in it.
class MapTable final : public Table {
public:
    std::optional<std::string_view> get(std::string_view key) override {
        const auto row = rows.find(key);
        if (row == rows.end()) return std::nullopt;
        return row->second;
    }
    std::optional<Row> at_or_after(std::string_view key) override {
        const auto row = rows.lower_bound(key);
        if (row == rows.end()) return std::nullopt;
        return Row{row->first, row->second};
    }
    void put(std::string_view key, std::string_view value) override {
        rows.insert_or_assign(std::string(key), std::string(value));
    }
    void erase(std::string_view key) override { rows.erase(std::string(key)); }

    std::map<std::string, std::string, std::less<>> rows;
};

/// A store without a lock: each verb is one transaction at the moment that the test sets.
class Book {
public:
    template <class Verb>
    auto in(ClientId client, Verb verb) {
        Ledger ledger({table, now, wall_microseconds, last_fence}, client);
        auto result = verb(ledger);
        told = ledger.told();
        return result;
    }
    Result<std::vector<Entry>> enter(std::vector<Contender> contenders, ClientId client = 1) {
        return in(client, [&](Ledger& ledger) { return ledger.enter(contenders); });
    }
    Entry enter(const Contender& contender, ClientId client = 1) {
        return enter(std::vector{contender}, client).value().front();
    }
    Standing standing(const Ticket& ticket, ClientId client = 1) {
        return in(client, [&](Ledger& ledger) { return ledger.standing(ticket); });
    }
    Standing renew(const Ticket& ticket, std::chrono::milliseconds lease = std::chrono::seconds{30},
                   ClientId client = 1) {
        return renew_with(ticket, Extension(lease, now), client);
    }
    Standing renew_with(const Ticket& ticket, Extension extension, ClientId client = 1) {
        return in(client, [&](Ledger& ledger) { return ledger.renew(ticket, extension); });
    }
    Standing leave(const Ticket& ticket, ClientId client = 1) {
        return in(client, [&](Ledger& ledger) { return ledger.leave(ticket); });
    }
    std::vector<Line> inspect(std::string_view prefix = {}) {
        return in(1, [&](Ledger& ledger) { return ledger.inspect(prefix); });
    }
    std::vector<ClientId> ahead_of(const Ticket& ticket, ClientId client) {
        return in(client, [&](Ledger& ledger) { return ledger.ahead_of(ticket); });
    }
    void bury(ClientId dead) {
        in(1, [&](Ledger& ledger) {
            ledger.bury(dead);
            return 0;
        });
    }
    /// What the last transaction told a contender in the end.
    std::optional<Standing::State> told_to(const Ticket& ticket) const {
        std::optional<Standing::State> state;
        for (const Told& one : told) {
            if (one.nonce == ticket.nonce) state = one.state;
        }
        return state;
    }

    MapTable table;
    Moment now{std::chrono::hours{1}};
    std::uint64_t wall_microseconds = 1'700'000'000'000'000;
    std::uint64_t last_fence = 0;
    std::vector<Told> told;
};

inline Contender contender(std::string resource, std::uint64_t number, std::uint64_t weight = all,
                           std::uint64_t capacity = all) {
    Contender made{.resource = std::move(resource),
                   .nonce = {},
                   .owner = "owner " + std::to_string(number),
                   .weight = weight,
                   .capacity = capacity,
                   .lease = std::chrono::seconds{30},
                   .host = "host " + std::to_string(number),
                   .pid = static_cast<int>(number)};
    std::memcpy(made.nonce.bytes.data(), &number, sizeof number);
    return made;
}

}  // namespace holdfast::ledger
