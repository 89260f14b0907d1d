#include "stores/postgres/failures.hpp"

#include <array>
#include <string>
#include <string_view>

#include "stores/net/secret.hpp"
#include "stores/sql/failures.hpp"

namespace holdfast::inline v0::postgres {

namespace {

using Known = sql::KnownError;
using Remedy = sql::Dialect::Remedy;

constexpr std::string_view other_tables =
    "a column of our tables is missing or has another type, so they are of another version of "
    "holdfast; while nobody uses them, DROP TABLE holdfast_contenders, holdfast_lines CASCADE, and "
    "they are made anew (docs/stores/postgres.md)";

constexpr std::string_view planted =
    "a row of the lock's has a value that holdfast has not written; delete the rows of that lock "
    "in "
    "holdfast_contenders and holdfast_lines (or ShedLock's) while nobody uses it";

constexpr std::array known_errors{
    Known{"42883", Remedy::schema, errc::bad_configuration,
          "our functions are not there; have them made (docs/stores/postgres.md)"},
    Known{"42P01", Remedy::schema, errc::bad_configuration,
          "our tables are not there; have them made (docs/stores/postgres.md)"},
    Known{"42703", Remedy::none, errc::corrupt, other_tables},
    Known{"42804", Remedy::none, errc::corrupt, other_tables},
    Known{"42846", Remedy::none, errc::corrupt, other_tables},
    // Out of range, no such moment, infinity.
    Known{"22", Remedy::none, errc::corrupt, planted},
    Known{"0A000", Remedy::none, errc::corrupt, planted},
    Known{"42501", Remedy::none, errc::bad_configuration,
          "this user may not do it; docs/stores/postgres.md lists the rights that holdfast needs"},
    Known{"3F000", Remedy::none, errc::bad_configuration,
          "there is no such schema; create it, or name another by ?schema="},
    Known{"40001", Remedy::again, errc::unreachable, "transactions met, again and again"},
    Known{"40P01", Remedy::again, errc::unreachable, "transactions met, again and again"},
    Known{"55P03", Remedy::again, errc::unreachable,
          "the resource's row, or the whole table, is locked by somebody else; end that "
          "transaction"},
    Known{"57014", Remedy::again, errc::unreachable, "somebody cancelled it, or it took too long"},
    Known{"57P03", Remedy::again, errc::unreachable, "it is starting; try again in a moment"},
    Known{"53", Remedy::again, errc::unreachable,
          "it has not enough of something; see the server's log"},
    Known{"54000", Remedy::again, errc::unreachable,
          "its queue of notifications is full; end the session that listens and does not read"},
    Known{"HF001", Remedy::none, errc::bad_configuration,
          "the columns of ShedLock's table must be of the type timestamp, without a time zone"},
    Known{"25006", Remedy::reconnect, errc::unreachable,
          "it is read-only, a replica perhaps; use the address of the primary"},
};

/// The SQLSTATE in "FATAL:  28P01: ...", whatever the language; empty when libpq speaks for itself.
std::string_view code_in(std::string_view message) {
    constexpr std::string_view before = ":  ";
    constexpr std::size_t length = 5;
    const auto at = message.find(before);
    if (at == message.npos) return {};
    const std::string_view rest = message.substr(at + before.size());
    if (rest.size() < length) return {};
    const bool is_code = rest.substr(0, length).find_first_not_of(
                             "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == rest.npos &&
                         rest.substr(length).starts_with(": ");
    return is_code ? rest.substr(0, length) : std::string_view{};
}

/// Who we are, whether we may, and to which database: repeating mends none of it.
bool refuses_us(std::string_view code) {
    return code.starts_with("28") || code == "3D000" || code == "42501";
}

/// A peer that went away in the handshake is told of in words of TLS too.
bool broke_off(std::string_view message) {
    return sql::says_any(message,
                         {"SYSCALL", "eof", "EOF", "reset", "closed", "timed out", "timeout"});
}

}  // namespace

sql::Dialect::Meaning meaning_of(const sql::ServerError& error, const sql::Address& address) {
    return sql::meaning_of(error, known_errors, address);
}

Failure refused_connection(const std::string& message, const sql::Address& address) {
    if (sql::says_any(message, {"unsupported startup parameter", "pgbouncer"})) {
        return {errc::bad_configuration, Effect::none,
                address.shown() +
                    ": that is PgBouncer, and a session there does not stay one (LISTEN is lost); "
                    "use the address of the server itself (" +
                    net::without_secret(message, address.password) + ")"};
    }
    const std::string_view code = code_in(message);
    if (refuses_us(code)) return sql::not_let_in(message, address);
    if (!code.empty()) return sql::lost_connection(message, address);
    // What has no code libpq says itself.
    if (sql::says_any(message,
                      {"expected authentication request", "response to SSL negotiation"})) {
        return sql::another_kind_of_server("PostgreSQL", message, address);
    }
    const bool has_wrong_files =
        sql::says_any(message, {"password", "certificate", "SSL"}) && !broke_off(message);
    return has_wrong_files ? sql::not_let_in(message, address)
                           : sql::lost_connection(message, address);
}

Failure unconfirmed_commit(const sql::Address& address) {
    return {errc::unreachable, Effect::unknown,
            address.shown() +
                ": a commit that waited for a replica was cancelled, so it may be missing there; "
                "see to the servers in synchronous_standby_names"};
}

bool ends_connection(std::string_view code) {
    return code == "57P01" || code == "57P02" || code == "57P05" || code == "25P03";
}

}  // namespace holdfast::inline v0::postgres
