#pragma once

#include <vector>

#include "stores/ledger/ledger.hpp"
#include "stores/ledger/table.hpp"

namespace holdfast::inline v0::local {

/// What clients could not be told because they have yet to hear of so much else, as rows of the
/// table.
void post(ledger::Table& table, const ledger::Told& told);

/// Takes out everything for a client.
std::vector<ledger::Told> take_mail(ledger::Table& table, ledger::ClientId client);

}  // namespace holdfast::inline v0::local
