#pragma once

#include <memory>

#include "port/store.hpp"
#include "stores/sql/address.hpp"
#include "stores/sql/calls.hpp"
#include "stores/sql/dialect.hpp"

namespace holdfast::inline v0::sql {

/// A store on such a server. Throws Error when it cannot be reached, or not entered.
std::shared_ptr<Store> open_sql(const Address& address, Tables tables,
                                const std::shared_ptr<const Dialect>& dialect);

}  // namespace holdfast::inline v0::sql
