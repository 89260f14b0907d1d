#include "stores/sql/failures.hpp"

#include <algorithm>

#include "stores/net/secret.hpp"

namespace holdfast::inline v0::sql {

namespace {

Failure failure(errc code, const std::string& sentence, const Address& address) {
    return {code, Effect::none, address.shown() + ": " + sentence};
}

/// What a server or a library said, as it may be shown.
std::string quoted(const std::string& said, const Address& address) {
    return " (" + net::without_secret(said, address.password) + ")";
}

}  // namespace

Dialect::Meaning meaning_of(const ServerError& error, std::span<const KnownError> known_errors,
                            const Address& address) {
    const auto found = std::ranges::find_if(
        known_errors, [&](const KnownError& known) { return error.code.starts_with(known.code); });
    const KnownError meant =
        found != known_errors.end()
            ? *found
            : KnownError{{}, Dialect::Remedy::none, errc::unreachable, "it answered with an error"};
    const std::string said = quoted(error.message + ", error " + error.code, address);
    return {meant.remedy, failure(meant.means, std::string(meant.sentence) + said, address)};
}

Failure not_let_in(const std::string& said, const Address& address) {
    return failure(errc::bad_configuration,
                   "it does not let us in; check user, password, database and certificates" +
                       quoted(said, address),
                   address);
}

Failure another_kind_of_server(const std::string& whose, const std::string& said,
                               const Address& address) {
    return failure(errc::bad_configuration,
                   "it does not speak " + whose + "'s protocol" + quoted(said, address) +
                       "; check host and port",
                   address);
}

Failure late_connection(const Address& address) {
    return failure(errc::unreachable,
                   "no connection in " + std::to_string(address.connect_timeout.count()) +
                       " ms; check the server, or raise connect_timeout",
                   address);
}

Failure lost_connection(const std::string& said, const Address& address) {
    return failure(errc::unreachable,
                   "no connection" + quoted(said, address) + "; check that the server runs",
                   address);
}

bool says_any(std::string_view message, std::initializer_list<std::string_view> signs) {
    return std::ranges::any_of(
        signs, [&](std::string_view sign) { return message.find(sign) != message.npos; });
}

}  // namespace holdfast::inline v0::sql
