#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "port/store.hpp"
#include "stores/sql/address.hpp"
#include "stores/sql/dialect.hpp"

namespace holdfast::inline v0::sql {

/// What on a database's server makes locks less safe, by a session of its own: see
/// Store::examine().
Result<Examination> examine(const Address& address, const Dialect& dialect);

}  // namespace holdfast::inline v0::sql
