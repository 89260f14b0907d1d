#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "stores/sql/address.hpp"
#include "stores/sql/dialect.hpp"

/// What is said when a database refuses something, or is not reached: in the same words of each
/// kind. A password is in none of them.
namespace holdfast::inline v0::sql {

/// An error of a server by its code, or by how that starts, and what it means.
struct KnownError {
    std::string_view code;
    Dialect::Remedy remedy;
    errc means;
    std::string_view sentence;
};
/// By the first that it is.
Dialect::Meaning meaning_of(const ServerError& error, std::span<const KnownError> known_errors,
                            const Address& address);

/// Why no connection came about, and trying again does not mend it.
Failure not_let_in(const std::string& said, const Address& address);
/// What answers there is no server of this kind: `whose` protocol it does not speak.
Failure another_kind_of_server(const std::string& whose, const std::string& said,
                               const Address& address);
/// It took longer than connect_timeout.
Failure late_connection(const Address& address);
/// Why there is none, or one that there was is gone.
Failure lost_connection(const std::string& said, const Address& address);

/// Whether any of these words is in what a library says.
bool says_any(std::string_view message, std::initializer_list<std::string_view> signs);

}  // namespace holdfast::inline v0::sql
