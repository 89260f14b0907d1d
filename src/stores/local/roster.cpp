#include "stores/local/roster.hpp"

#include <sys/random.h>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "stores/local/seat.hpp"

namespace holdfast::inline v0::local {

namespace {

using ledger::Key;

constexpr char client_kind = 'p';

Key client_key(ClientId id) {
    return Key(client_kind) << id;
}

Member decode(std::string_view value) {
    Member member;
    std::memcpy(&member, value.data(), std::min(value.size(), sizeof member));
    return member;
}

std::vector<Member> members_from(Table& table, ClientId first, std::size_t most) {
    std::vector<Member> members;
    std::string from{std::string_view(client_key(first))};
    while (members.size() < most) {
        const auto row = table.at_or_after(from);
        if (!row || row->key.front() != client_kind) break;
        members.push_back(decode(row->value));
        from.assign(row->key).push_back('\0');
    }
    return members;
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

Member new_member() {
    return {.id = new_id(), .process = this_process()};
}

void enroll(Table& table, const Member& member) {
    table.put(client_key(member.id), {reinterpret_cast<const char*>(&member), sizeof member});
}

std::optional<Member> find_member(Table& table, ClientId id) {
    const auto value = table.get(client_key(id));
    if (!value) return std::nullopt;
    return decode(*value);
}

std::vector<Member> all_members(Table& table) {
    return members_from(table, 0, std::numeric_limits<std::size_t>::max());
}

std::vector<Member> members_after(Table& table, ClientId id, std::size_t most) {
    std::vector<Member> members = members_from(table, id + 1, most);
    for (const Member& member : members_from(table, 0, most - members.size())) {
        if (member.id <= id) members.push_back(member);
    }
    return members;
}

void strike(Table& table, ClientId id) {
    table.erase(client_key(id));
}

bool is_dead(const Member& member, int control_file, std::uint64_t here) {
    if (!is_seated(control_file, member.id)) return true;
    return member.dead_when == DeadWhen::process_ended && has_ended(member.process, here);
}

}  // namespace holdfast::inline v0::local
