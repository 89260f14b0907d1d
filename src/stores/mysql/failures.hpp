#pragma once

#include "stores/sql/address.hpp"
#include "stores/sql/dialect.hpp"

namespace holdfast::inline v0::mysql {

/// What the server's error means, in our words, by its number.
sql::Dialect::Meaning meaning_of(const sql::ServerError& error, const sql::Address& address);

/// Why no connection came about.
Failure refused_connection(unsigned number, const std::string& message,
                           const sql::Address& address);
/// Why one that there was is gone.
Failure lost_connection(unsigned number, const std::string& message, const sql::Address& address);

/// The connection ends with this error.
bool ends_connection(unsigned number);

}  // namespace holdfast::inline v0::mysql
