#pragma once

#include <vector>

#include "stores/ledger/ledger.hpp"
#include "stores/ledger/table.hpp"

namespace holdfast::inline v0::local {

/// What clients are told by others, as rows of the table: written in the transaction that tells
/// it, so that a lost datagram loses nothing that is told.
void post(ledger::Table& table, const ledger::Told& told);

/// Takes out everything for a client.
std::vector<ledger::Told> take_mail(ledger::Table& table, ledger::ClientId client);

}  // namespace holdfast::inline v0::local
