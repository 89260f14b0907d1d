#include "stores/local/registry.hpp"

#include <sys/random.h>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "stores/local/pulse.hpp"

namespace holdfast::inline v0::local {

namespace {

using ledger::Key;

constexpr char client_kind = 'p';

Key client_key(ClientId id) {
    return Key(client_kind) << id;
}

Registrant decode(std::string_view value) {
    Registrant registrant;
    std::memcpy(&registrant, value.data(), std::min(value.size(), sizeof registrant));
    return registrant;
}

std::vector<Registrant> registrants_from(Table& table, ClientId first, std::size_t most) {
    std::vector<Registrant> registrants;
    std::string from{std::string_view(client_key(first))};
    while (registrants.size() < most) {
        const auto row = table.at_or_after(from);
        if (!row || row->key.front() != client_kind) break;
        registrants.push_back(decode(row->value));
        from.assign(row->key).push_back('\0');
    }
    return registrants;
}

/// The small numbers are the Station's own.
constexpr ClientId smallest_id = 16;

/// Random, so that it is nobody else's, whatever namespace that one is in.
ClientId new_id() {
    ClientId id = 0;
    while (id < smallest_id) {
        if (getrandom(&id, sizeof id, 0) != sizeof id) id = 0;
        id %= id_limit;
    }
    return id;
}

}  // namespace

Registrant new_registrant() {
    return {.id = new_id(), .process = this_process()};
}

void enroll(Table& table, const Registrant& registrant) {
    table.put(client_key(registrant.id),
              {reinterpret_cast<const char*>(&registrant), sizeof registrant});
}

std::optional<Registrant> find_registrant(Table& table, ClientId id) {
    const auto value = table.get(client_key(id));
    if (!value) return std::nullopt;
    return decode(*value);
}

std::vector<Registrant> all_registrants(Table& table) {
    return registrants_from(table, 0, std::numeric_limits<std::size_t>::max());
}

std::vector<Registrant> registrants_after(Table& table, ClientId id, std::size_t most) {
    std::vector<Registrant> registrants = registrants_from(table, id + 1, most);
    for (const Registrant& registrant : registrants_from(table, 0, most - registrants.size())) {
        if (registrant.id <= id) registrants.push_back(registrant);
    }
    return registrants;
}

void strike(Table& table, ClientId id) {
    table.erase(client_key(id));
}

bool is_dead(const Registrant& registrant, int control_file, std::uint64_t here) {
    if (!has_pulse(control_file, registrant.id)) return true;
    return registrant.dead_when == DeadWhen::process_ended && has_ended(registrant.process, here);
}

}  // namespace holdfast::inline v0::local
