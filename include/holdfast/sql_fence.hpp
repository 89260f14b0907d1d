#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

/// Rows of a database that refuse whoever comes with the fence of a hold that is over. Not in
/// holdfast.hpp: it needs nothing of it, and no store of ours in that database.
namespace holdfast::inline v0 {

/// How a statement is written.
enum class SqlDialect : std::uint8_t {
    postgres,  ///< parameters are $1, $2
    mysql,     ///< parameters are ?; MariaDB too
};

/// The statements for a table whose rows remember the highest fence that came to them. What a lock
/// guards is written in this order, best in one transaction:
///
///     raise()   first of all, before anything is read
///     read()    no row: somebody with a newer fence was here. Roll back, and stop: the hold is
///     over write()   as often as needed
///
/// Raised first, because of whoever was stopped between its read and its write: with the fence in
/// the last write alone, it writes after the next holder has read and before that one writes, is
/// told that it was done, and what it wrote is lost. Once the next holder has raised the fence it
/// is refused.
///
/// The row must be there: an absent one is answered as a newer fence is. On MySQL do not count the
/// rows that raise() changed, which are none when the same hold comes a second time: read() tells.
///
/// Names stand in the statements as they are given: quote them as the database wants it, and take
/// none from outside. Threads: all members may be called from any thread.
class SqlFence {
public:
    /// `key` finds one row; `column` has its fence.
    explicit SqlFence(SqlDialect dialect, std::string table, std::string key = "id",
                      std::string column = "fence")
        : dialect_(dialect),
          table_(std::move(table)),
          key_(std::move(key)),
          column_(std::move(column)) {}

    /// Adds the column to a table. NOT NULL matters: a fence that is NULL is neither lower nor
    /// higher than any other, and such a row would refuse everybody.
    std::string add_column() const {
        return "ALTER TABLE " + table_ + " ADD COLUMN " + column_ + " BIGINT NOT NULL DEFAULT 0";
    }

    /// Parameters on PostgreSQL: $1 the fence, $2 the key. On MySQL: the fence, the fence, the key.
    std::string raise() const {
        const std::string fence = fence_parameter();
        return "UPDATE " + table_ + " SET " + column_ + " = " + fence + " WHERE " + column_ +
               " <= " + fence + " AND " + key_ + " = " + key_parameter();
    }

    /// `columns`: "balance, currency". Locks the row until the transaction ends. Parameters: the
    /// fence, the key.
    std::string read(std::string_view columns) const {
        return "SELECT " + std::string(columns) + " FROM " + table_ + guarded() + " FOR UPDATE";
    }

    /// `assignments`: "balance = $3", or "balance = ?". Changes nothing when a newer fence was
    /// raised. Parameters on PostgreSQL: the fence, the key, those of the assignments. On MySQL:
    /// those of the assignments, the fence, the key.
    std::string write(std::string_view assignments) const {
        return "UPDATE " + table_ + " SET " + std::string(assignments) + guarded();
    }

private:
    std::string fence_parameter() const { return dialect_ == SqlDialect::postgres ? "$1" : "?"; }
    std::string key_parameter() const { return dialect_ == SqlDialect::postgres ? "$2" : "?"; }
    /// Equal, not lower: who comes has raised it.
    std::string guarded() const {
        return " WHERE " + column_ + " = " + fence_parameter() + " AND " + key_ + " = " +
               key_parameter();
    }

    SqlDialect dialect_;
    std::string table_;
    std::string key_;
    std::string column_;
};

}  // namespace holdfast::inline v0
