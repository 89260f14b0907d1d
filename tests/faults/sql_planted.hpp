#pragma once

#include <holdfast/holdfast.hpp>
#include <map>
#include <string>
#include <vector>

#include "faults/planted_values.hpp"

/// In the rows of a database: the same in both kinds.
namespace holdfast::test {

/// How one of them is written to.
struct Rows {
    std::function<void(const std::string&)> query;
    std::string prefix;   ///< of the tables' names: "locks."
    std::string emptied;  ///< what else an empty line says: ", crowd = 5, seat_nonce = ''"
    std::string line_id;  ///< of the lock
};

class SqlGround : public Ground {
public:
    void clear() const override {
        rows_.query("DELETE FROM " + contenders() + "; UPDATE " + lines() +
                    " SET last_fence = 0, last_ticket = 0, capacity = 0, fairness = 'f'" +
                    rows_.emptied);
    }

    std::vector<Planted> values() const override {
        std::vector<Planted> all;
        for (const auto& edge : numbers_) {
            for (const char* const column : {"last_fence", "last_ticket", "capacity"}) {
                all.push_back(update(column, edge));
            }
            for (const char* const phase : {"admitted", "offered", "waiting"}) {
                for (const char* const column : {"weight", "lease_end"}) {
                    all.push_back(insert(phase, {{column, edge}}));
                }
            }
            all.push_back(insert("admitted", {{"fence", edge}}));
            all.push_back(insert("admitted", {{"since", edge}}));
            all.push_back(insert("offered", {{"claim_end", edge}}));
            all.push_back(insert("waiting", {{"ticket", edge}}));
        }
        for (const char* const phase : {"lapsed", "left", "", "nonsense"}) {
            all.push_back(insert(phase, {}));
        }
        for (const char* const text : {"'\x1b[2J'", "'%zz%'", "''", "'%1B%5B2J%0A%00'"}) {
            all.push_back(insert("admitted", {{"owner", text}, {"host", text}}));
            all.push_back(insert("admitted", {{"nonce", text}}));
        }
        all.push_back(insert("admitted", {{"nonce", "'" + std::string(32, '0') + "'"}}));
        all.push_back(insert("admitted", {{"owner", "'" + std::string(60'000, 'x') + "'"}}));
        return all;
    }

protected:
    explicit SqlGround(Rows rows) : rows_(std::move(rows)) {}
    /// The tables, and the line, are there from now on.
    static void use(const std::string& url) {
        connect(url + (url.find('?') == std::string::npos ? "?" : "&") + "request_timeout=30s")
            .mutex("orders")
            .acquire()
            .release();
    }
    Planted statement(const std::string& what, const std::string& text) const {
        return {what, [query = rows_.query, text] { query(text); }};
    }

    const Rows rows_;

private:
    std::string lines() const { return rows_.prefix + "holdfast_lines"; }
    std::string contenders() const { return rows_.prefix + "holdfast_contenders"; }

    Planted update(const std::string& column, const std::string& value) const {
        return statement(column + " = " + value, "UPDATE " + lines() + " SET " + column + " = " +
                                                     value + " WHERE id = " + rows_.line_id);
    }
    /// A contender that lives, but for what is said otherwise.
    Planted insert(const std::string& phase,
                   const std::map<std::string, std::string>& otherwise) const {
        std::map<std::string, std::string> row{{"line", rows_.line_id},
                                               {"nonce", "'" + std::string(32, 'a') + "'"},
                                               {"phase", "'" + phase + "'"},
                                               {"ticket", "5"},
                                               {"weight", "1000000000"},
                                               {"fence", "77"},
                                               {"lease_end", "4000000000000000"},
                                               {"claim_end", "4000000000000000"},
                                               {"since", "5"},
                                               {"owner", "'o'"},
                                               {"host", "'h'"},
                                               {"pid", "-1"}};
        std::string what = phase, columns, values;
        for (const auto& [column, value] : otherwise) {
            row[column] = value;
            what += " " + column + " = " + value.substr(0, 40);
        }
        for (const auto& [column, value] : row) {
            columns += (columns.empty() ? "" : ", ") + column;
            values += (values.empty() ? "" : ", ") + value;
        }
        return statement(
            what, "INSERT INTO " + contenders() + " (" + columns + ") VALUES (" + values + ")");
    }

    const std::vector<std::string> numbers_{"-1", "-1000000000", "9007199254740992",
                                            "9223372036854775807", "-9223372036854775808"};
};

/// ShedLock's table, shared.
class ShedlockGround : public SqlGround {
public:
    void clear() const override {
        SqlGround::clear();
        rows_.query("DELETE FROM " + rows_.prefix + "shedlock");
    }
    std::vector<Planted> values() const override {
        std::vector<Planted> all;
        for (const auto& moment : moments_) {
            for (const auto& other : moments_) all.push_back(row(moment, other, "'x'"));
        }
        const std::string nonce = "holdfast:" + std::string(32, '0');
        for (const std::string& name :
             {std::string(), std::string("\x1b[2J"), nonce, std::string("holdfast:") + "zz",
              "holdfast:" + std::string(32, 'a') + " x", std::string(255, 'x')}) {
            all.push_back(row(moments_[1], moments_[0], "'" + name + "'"));
        }
        return all;
    }

protected:
    ShedlockGround(Rows rows, std::vector<std::string> moments)
        : SqlGround(std::move(rows)), moments_(std::move(moments)) {}
    void make_table() const {
        rows_.query("CREATE TABLE " + rows_.prefix +
                    "shedlock (name VARCHAR(64) NOT NULL PRIMARY KEY, lock_until TIMESTAMP(3) NOT "
                    "NULL, locked_at TIMESTAMP(3) NOT NULL, locked_by VARCHAR(255) NOT NULL)");
    }

private:
    Planted row(const std::string& lock_until, const std::string& locked_at,
                const std::string& locked_by) const {
        return statement(
            "until " + lock_until + " at " + locked_at,
            "DELETE FROM " + rows_.prefix + "shedlock; INSERT INTO " + rows_.prefix +
                "shedlock (name, lock_until, locked_at, locked_by) VALUES ('orders', " +
                lock_until + ", " + locked_at + ", " + locked_by + ")");
    }

    const std::vector<std::string> moments_;
};

}  // namespace holdfast::test
