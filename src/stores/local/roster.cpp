#include "stores/local/roster.hpp"

#include <signal.h>
#include <cerrno>
#include <cstring>
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

}  // namespace

void enroll(Table& table, const Member& member) {
    table.put(client_key(member.id), {reinterpret_cast<const char*>(&member), sizeof member});
}

std::optional<Member> find_member(Table& table, ClientId id) {
    const auto value = table.get(client_key(id));
    if (!value) return std::nullopt;
    return decode(*value);
}

std::vector<Member> all_members(Table& table) {
    std::vector<Member> members;
    std::string from(1, client_kind);
    for (auto row = table.at_or_after(from); row && row->key.front() == client_kind;
         row = table.at_or_after(from)) {
        members.push_back(decode(row->value));
        from.assign(row->key).push_back('\0');
    }
    return members;
}

void strike(Table& table, ClientId id) {
    table.erase(client_key(id));
}

bool is_dead(const Member& member, int control_file, std::uint64_t here) {
    if (!is_seated(control_file, member.id)) return true;
    if (member.dead_when == DeadWhen::seat_free || !member.process.is_in(here)) return false;
    // Only proof counts: that /proc does not answer (no descriptor left, hidden from this user)
    // proves nothing.
    if (kill(member.process.pid, 0) != 0 && errno == ESRCH) return true;
    const auto started = start_time_of(member.process.pid);
    return started && *started != member.process.start_time;
}

}  // namespace holdfast::inline v0::local
