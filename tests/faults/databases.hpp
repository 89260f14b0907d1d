#pragma once

#include <holdfast/sql_fence.hpp>

#include "faults/server_faults.hpp"
#include "servers/server_process.hpp"

namespace holdfast::test {

struct DatabaseOptions {
    bool tls = false;  ///< takes TLS too, with certificates().server
    std::vector<std::string> settings = {};
    std::vector<std::string> under = {};  ///< what it is started by: {"env", "LD_PRELOAD=..."}
};

/// A real database server of one test's own, and how a few things are said to it.
class Database {
public:
    virtual ~Database() = default;

    virtual ServerProcess& server() = 0;
    /// What statements answer, as somebody who may do everything and among our tables.
    virtual std::string query(const std::string& statements) const = 0;
    virtual SqlDialect dialect() const = 0;
    /// How many rows the statement has changed.
    virtual std::string changed(const std::string& statement) const = 0;

    /// How many of ours there are.
    virtual std::string sessions() const = 0;

    // --- users ---

    virtual std::string url_of(const std::string& user, const std::string& password,
                               const std::string& database = "") const = 0;
    virtual void add_user(const std::string& name, const std::string& password) const = 0;
    virtual void demand_tls_of(const std::string& user) const = 0;
    /// Of the environment.
    virtual const char* password_variable() const = 0;

    // --- what databases do, and people ---

    /// Refuses so many writes of contenders, as if transactions had met; then, how many it has.
    virtual void refuse_writes(int count) const = 0;
    virtual std::string refused() const = 0;
    /// Holds the row of the contender, then wants that of the line; it has the first of the two.
    virtual void deadlock() const = 0;
    virtual bool deadlock_is_prepared() const = 0;
    /// Has the row of the resource with this name (without prefix) in an open transaction.
    virtual void hold_row_of(const std::string& name, double seconds) const = 0;
    /// The rows of its contenders.
    virtual void hold_contenders_of(const std::string& name, double seconds) const = 0;
    /// Whether so many transactions have what they were to hold.
    virtual bool are_held(int transactions) const = 0;
    bool row_is_held() const { return are_held(1); }
    /// Fails each renewal of the contenders of that resource.
    virtual void refuse_renewals_of(const std::string& name) const = 0;
    virtual void become_read_only() = 0;
    /// One column that every lock needs.
    virtual void drop_column() const = 0;
    /// Tables of an older version, and no procedure of this one.
    virtual void become_older() const = 0;

    // --- crowds, whose names are 1, 2, 3 and so on ---

    /// At the front of the only line that there is.
    virtual void plant_dead_waiters(int count) const = 0;
    /// Resources that nobody contends for, since long ago.
    void plant_idle_lines(int count) const { plant_lines(count, "1"); }
    /// Whose lease has ended: each the only one in its line.
    virtual void plant_dead_contenders(int count) const = 0;
    /// Living ones.
    virtual void plant_waiters(int lines, int each) const = 0;
    /// Of a contender: by 20 ms for each.
    virtual void slow_down_deleting() const = 0;

    // --- the table of ShedLock ---

    virtual std::string now() const = 0;               ///< in UTC, as all moments
    virtual std::string after(int seconds) const = 0;  ///< a moment
    /// Of a lease of ours, so much later.
    virtual std::string end_of_lease(int microseconds_later) const = 0;
    /// What its columns are to keep.
    virtual void keep_whole_seconds() const = 0;
    virtual void keep_milliseconds() const = 0;

protected:
    virtual void plant_lines(int count, const std::string& last_fence) const = 0;
};

std::unique_ptr<Database> make_postgres(DatabaseOptions options);
std::unique_ptr<Database> make_mariadb(DatabaseOptions options);

struct DatabaseKind {
    std::string name;
    std::unique_ptr<Database> (*make)(DatabaseOptions);
    std::vector<std::string> settings = {};

    friend void PrintTo(const DatabaseKind& kind, std::ostream* out) { *out << kind.name; }
};

inline std::vector<DatabaseKind> databases() {
    return {
#ifdef HOLDFAST_STORE_POSTGRES
        {.name = "Postgres", .make = make_postgres},
#endif
#ifdef HOLDFAST_STORE_MYSQL
        {.name = "Mariadb", .make = make_mariadb},
#endif
    };
}

/// What is the same for each kind of database.
class OnDatabase : public testing::TestWithParam<DatabaseKind> {
protected:
    explicit OnDatabase(DatabaseOptions options = {}) {
        options.settings = GetParam().settings;
        database_ = GetParam().make(std::move(options));
    }
    std::string url(const std::string& parameters = "") const {
        return database_->server().url() + parameters;
    }
    std::string query(const std::string& statements) const { return database_->query(statements); }

    std::unique_ptr<Database> database_;
};

}  // namespace holdfast::test

#define HOLDFAST_ON(kinds, suite)                                        \
    INSTANTIATE_TEST_SUITE_P(Databases, suite, testing::ValuesIn(kinds), \
                             [](const auto& about) { return about.param.name; })
#define HOLDFAST_ON_DATABASES(suite) HOLDFAST_ON(databases(), suite)
