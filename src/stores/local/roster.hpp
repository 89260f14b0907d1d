#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stores/ledger/records.hpp"
#include "stores/ledger/table.hpp"
#include "stores/local/process.hpp"

namespace holdfast::inline v0::local {

using ledger::ClientId;
using ledger::Table;

/// Who decides that a client is dead.
enum class DeadWhen : std::uint64_t {
    process_ended = 0,
    /// Its seat is shared with another process (a warden), which may outlive it.
    seat_free = 1,
};

/// A client, as the roster knows it.
struct Member {
    ClientId id = 0;
    ProcessIdentity process = {};
    DeadWhen dead_when = DeadWhen::process_ended;
};

/// A new client of this process.
Member new_member();

/// The clients of a store, as rows of its table. Whoever is not in it counts as dead.
void enroll(Table& table, const Member& member);
std::optional<Member> find_member(Table& table, ClientId id);
std::vector<Member> all_members(Table& table);
/// At most so many that come after that id, in a circle: ids are random, so that is a sample.
std::vector<Member> members_after(Table& table, ClientId id, std::size_t most);
void strike(Table& table, ClientId id);

/// Whether its seat is free, or its process gone while a stray copy keeps the seat. A system call
/// or two; `control_file` as for is_seated(). `here` is this process's PID namespace.
bool is_dead(const Member& member, int control_file, std::uint64_t here);

}  // namespace holdfast::inline v0::local
