#include "stores/mysql/failures.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "stores/sql/failures.hpp"

namespace holdfast::inline v0::mysql {

namespace {

using Known = sql::KnownError;
using Remedy = sql::Dialect::Remedy;

constexpr std::string_view no_schema =
    "our tables or procedures are not there; have them made (docs/stores/mysql.md)";
constexpr std::string_view no_right =
    "this user may not do it; docs/stores/mysql.md lists the rights that holdfast needs";
constexpr std::string_view read_only =
    "it is read-only, a replica perhaps; use the address of the primary";
constexpr std::string_view met = "transactions met, again and again";

constexpr std::string_view planted =
    "a row of the lock's has a value that holdfast has not written; delete the rows of that lock "
    "in "
    "holdfast_contenders and holdfast_lines (or ShedLock's) while nobody uses it";

constexpr std::array known_errors{
    Known{"1305", Remedy::schema, errc::bad_configuration, no_schema},
    Known{"1146", Remedy::schema, errc::bad_configuration, no_schema},
    Known{
        "1054", Remedy::none, errc::corrupt,
        "a column of our tables is missing, so they are of another version of holdfast; while "
        "nobody uses them, DROP TABLE holdfast_contenders, holdfast_lines, and they are made anew "
        "(docs/stores/mysql.md)"},
    // Out of range, no such moment.
    Known{"1690", Remedy::none, errc::corrupt, planted},
    Known{"1264", Remedy::none, errc::corrupt, planted},
    Known{"1292", Remedy::none, errc::corrupt, planted},
    Known{"1048", Remedy::none, errc::corrupt, planted},
    Known{"1044", Remedy::none, errc::bad_configuration, no_right},
    Known{"1142", Remedy::none, errc::bad_configuration, no_right},
    Known{"1227", Remedy::none, errc::bad_configuration, no_right},
    Known{"1370", Remedy::none, errc::bad_configuration, no_right},
    Known{"1298", Remedy::none, errc::bad_configuration,
          "it does not know the time zone that the parameter zone names; give one as +02:00"},
    // Our own: see shedlock.sql.
    Known{"45001", Remedy::none, errc::bad_configuration,
          "ShedLock's table has no transactions; ALTER TABLE shedlock ENGINE = InnoDB"},
    Known{"1665", Remedy::none, errc::bad_configuration,
          "its binary log has statements; set binlog_format to ROW or MIXED"},
    Known{"1205", Remedy::again, errc::unreachable,
          "the resource's row, or the whole table, is locked by somebody else; end that "
          "transaction, or wait for the backup"},
    Known{"1213", Remedy::again, errc::unreachable, met},
    Known{"1020", Remedy::again, errc::unreachable, met},
    // Group Replication: another member wrote the same row.
    Known{"3101", Remedy::again, errc::unreachable, met},
    Known{"3100", Remedy::repeat, errc::unreachable, "its group did not take it"},
    Known{"1317", Remedy::repeat, errc::unreachable, "somebody killed the query"},
    Known{"1969", Remedy::repeat, errc::unreachable, "it took longer than max_statement_time"},
    Known{"3024", Remedy::repeat, errc::unreachable, "it took longer than max_execution_time"},
    Known{"1047", Remedy::again, errc::unreachable, "this node is not part of its cluster now"},
    Known{"1036", Remedy::reconnect, errc::unreachable, read_only},
    Known{"1290", Remedy::reconnect, errc::unreachable, read_only},
    Known{"1792", Remedy::reconnect, errc::unreachable, read_only},
    Known{"1836", Remedy::reconnect, errc::unreachable, read_only},
    Known{"1874", Remedy::reconnect, errc::unreachable, read_only},
};

/// The library ends some of its sentences with the number of the system's error alone.
std::string with_reason(const std::string& message) {
    const auto begin = message.rfind('(');
    if (begin == std::string::npos || !message.ends_with(")")) return message;
    int number = 0;
    const char* const end = message.data() + message.size() - 1;
    const auto [stopped, error] = std::from_chars(message.data() + begin + 1, end, number);
    if (error != std::errc{} || stopped != end) return message;
    return message.substr(0, begin) + "(" + std::generic_category().message(number) + ")";
}

std::string said(unsigned number, const std::string& message) {
    return with_reason(message) + ", error " + std::to_string(number);
}

}  // namespace

sql::Dialect::Meaning meaning_of(const sql::ServerError& error, const sql::Address& address) {
    return sql::meaning_of(error, known_errors, address);
}

Failure refused_connection(unsigned number, const std::string& message,
                           const sql::Address& address) {
    // No right, password, database, host or account that may; and what the library cannot do.
    constexpr std::array<unsigned, 13> refusals{1044, 1045, 1049, 1129, 1130, 1251, 1698,
                                                1862, 2026, 2059, 2061, 3118, 4151};
    const bool refused = std::ranges::find(refusals, number) != refusals.end();
    // By one number the library tells of certificates, and of a peer that went away in the
    // handshake.
    const bool passes =
        number == 2026 && sql::says_any(message, {"eof", "reset", "pipe", "timed out"});
    if (!refused || passes) return lost_connection(number, message, address);
    return sql::not_let_in(said(number, message), address);
}

Failure lost_connection(unsigned number, const std::string& message, const sql::Address& address) {
    return sql::lost_connection(said(number, message), address);
}

bool ends_connection(unsigned number) {
    // The client's own numbers; and shut down, aborted, killed.
    constexpr std::array<unsigned, 6> ends{1053, 1152, 1153, 1927, 3169, 4031};
    return (number >= 2000 && number < 3000) || std::ranges::find(ends, number) != ends.end();
}

}  // namespace holdfast::inline v0::mysql
