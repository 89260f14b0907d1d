#pragma once

#include "stores/sql/address.hpp"
#include "stores/sql/dialect.hpp"

namespace holdfast::inline v0::postgres {

/// What the server's error means, in our words, by its SQLSTATE.
sql::Dialect::Meaning meaning_of(const sql::ServerError& error, const sql::Address& address);

/// Why no connection came about, by what libpq says of it; with codes (PQERRORS_VERBOSE).
Failure refused_connection(const std::string& message, const sql::Address& address);

/// Why a connection counts as broken that has answered: what it said need not be so.
Failure unconfirmed_commit(const sql::Address& address);

/// The server ends the connection with this error.
bool ends_connection(std::string_view code);

}  // namespace holdfast::inline v0::postgres
