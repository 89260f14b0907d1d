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
    /// Its pulse is shared with another process (a warden), which may outlive it.
    pulse_over = 1,
};

/// A client, as the registry knows it.
struct Registrant {
    ClientId id = 0;
    ProcessIdentity process = {};
    DeadWhen dead_when = DeadWhen::process_ended;
};

/// A new client of this process.
Registrant new_registrant();

/// The clients of a store, as rows of its table. Whoever is not in it counts as dead.
void enroll(Table& table, const Registrant& registrant);
std::optional<Registrant> find_registrant(Table& table, ClientId id);
std::vector<Registrant> all_registrants(Table& table);
/// The clients that come after that id, at most so many, in a circle: ids are random, so that is a
/// sample.
std::vector<Registrant> registrants_after(Table& table, ClientId id, std::size_t most);
void strike(Table& table, ClientId id);

/// Whether a client is dead: its pulse is over, or its process gone while a stray copy keeps the
/// pulse. A system call
/// or two; `control_file` as for has_pulse(). `here` is this process's PID namespace.
bool is_dead(const Registrant& registrant, int control_file, std::uint64_t here);

}  // namespace holdfast::inline v0::local
