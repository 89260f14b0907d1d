#include "faults/databases.hpp"
#include "servers/mariadb_server.hpp"

namespace holdfast::test {
namespace {

/// Of the names 1, 2, 3 and so on behind the usual prefix.
std::string lines_from(int first, int last) {
    return " FROM (SELECT CONCAT('holdfast/', seq) AS its_name FROM seq_" + std::to_string(first) +
           "_to_" + std::to_string(last) + ") named ";
}
const std::string its_id = "UNHEX(SHA2(its_name, 256))";
const std::string this_moment = "TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))";

class MariadbDatabase final : public Database {
public:
    explicit MariadbDatabase(DatabaseOptions options)
        : server_({.tls = options.tls,
                   .settings = std::move(options.settings),
                   .under = std::move(options.under)}) {}

    ServerProcess& server() override { return server_; }
    std::string query(const std::string& statements) const override {
        return server_.query("USE locks; " + statements);
    }
    SqlDialect dialect() const override { return SqlDialect::mysql; }
    std::string changed(const std::string& statement) const override {
        return query(statement + "; SELECT ROW_COUNT()");
    }
    std::string sessions() const override {
        return query("SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'locks'");
    }

    std::string url_of(const std::string& user, const std::string& password,
                       const std::string& database) const override {
        return "mysql://" + user + (password.empty() ? "" : ":" + password) + "@" +
               server_.address() + "/" + (database.empty() ? "locks" : database);
    }
    void add_user(const std::string& name, const std::string& password) const override {
        query("CREATE USER " + name + "@'127.0.0.1' IDENTIFIED BY '" + password +
              "'; GRANT ALL ON locks.* TO " + name + "@'127.0.0.1'");
    }
    void demand_tls_of(const std::string& user) const override {
        query("ALTER USER " + user + "@'127.0.0.1' REQUIRE SSL");
    }
    const char* password_variable() const override { return "MYSQL_PWD"; }

    /// What counts them is kept when the rest is rolled back.
    void refuse_writes(int count) const override {
        query(R"(
            CREATE TABLE refused (count INT) ENGINE = Aria TRANSACTIONAL = 0;
            INSERT INTO refused VALUES (0);)");
        query(R"(
DELIMITER //
            CREATE TRIGGER refuse BEFORE UPDATE ON holdfast_lines FOR EACH ROW
            IF (SELECT count FROM refused) < )" +
              std::to_string(count) + R"( THEN
                UPDATE refused SET count = count + 1;
                SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213;
            END IF//)");
    }
    std::string refused() const override { return query("SELECT count FROM refused"); }
    /// It has done more than the store, whose transaction is ended for that.
    void deadlock() const override {
        query(
            "CREATE TABLE ballast (number INT) ENGINE = InnoDB; START TRANSACTION;"
            "INSERT INTO ballast SELECT seq FROM seq_1_to_5000;"
            "SELECT 1 FROM holdfast_contenders FOR UPDATE; DO SLEEP(1);"
            "SELECT 1 FROM holdfast_lines FOR UPDATE; COMMIT");
    }
    bool deadlock_is_prepared() const override { return are_held(1); }
    void hold_row_of(const std::string& name, double seconds) const override {
        // By another column than the key it would have all rows.
        query("START TRANSACTION; SELECT 1 FROM holdfast_lines WHERE id = " + id_of(name) +
              " FOR UPDATE; DO SLEEP(" + std::to_string(seconds) + ")");
    }
    void hold_contenders_of(const std::string& name, double seconds) const override {
        query(
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION;"
            "SELECT 1 FROM holdfast_contenders FORCE INDEX (PRIMARY) WHERE line = " +
            id_of(name) + " FOR UPDATE; DO SLEEP(" + std::to_string(seconds) + ")");
    }
    bool are_held(int transactions) const override {
        return query(
                   "SELECT COUNT(*) FROM information_schema.processlist "
                   "WHERE state = 'User sleep'") == std::to_string(transactions);
    }
    void refuse_renewals_of(const std::string& name) const override {
        query(R"(
DELIMITER //
            CREATE TRIGGER refuse_renewals BEFORE UPDATE ON holdfast_contenders FOR EACH ROW
            IF OLD.line = )" +
              id_of(name) + R"( THEN
                SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one';
            END IF//)");
    }
    void become_read_only() override { query("SET GLOBAL read_only = 1"); }
    void drop_column() const override {
        query("ALTER TABLE holdfast_lines DROP COLUMN seat_lease_end");
    }
    void become_older() const override {
        query(
            "ALTER TABLE holdfast_lines DROP COLUMN seat_serial;"
            "ALTER TABLE holdfast_contenders DROP COLUMN serial;"
            "DELETE FROM mysql.proc WHERE db = 'locks'");
        // Else it would remember them.
        query("CREATE PROCEDURE other() DO 1; DROP PROCEDURE other");
    }

    void plant_dead_waiters(int count) const override {
        query("UPDATE holdfast_lines SET crowd = crowd + " + std::to_string(count) +
              "; INSERT INTO holdfast_contenders (line, nonce, phase, ticket, weight, lease_end,"
              " owner, host) SELECT id, MD5(seq), 'waiting', seq, 1000000000, 1, '', ''"
              " FROM holdfast_lines, seq_1_to_" +
              std::to_string(count));
    }
    void plant_dead_contenders(int count) const override {
        plant_lines(count, this_moment);
        query(
            "INSERT INTO holdfast_contenders (line, nonce, phase, lease_end, owner, host)"
            " SELECT " +
            its_id + ", MD5(its_name), 'left', 1, '', ''" + lines_from(1, count));
    }
    void plant_waiters(int lines, int each) const override {
        plant_lines(lines, this_moment);
        query(
            "INSERT INTO holdfast_contenders (line, nonce, phase, ticket, weight, lease_end,"
            " owner, host) SELECT " +
            its_id + ", MD5(CONCAT(its_name, ' ', j.seq)), 'waiting', j.seq, 1000000000, " +
            this_moment + " + 3600000000, j.seq, ''" + lines_from(1, lines) + ", seq_1_to_" +
            std::to_string(each) + " j");
    }
    void slow_down_deleting() const override {
        query(
            "CREATE TRIGGER dawdle BEFORE DELETE ON holdfast_contenders"
            " FOR EACH ROW DO SLEEP(0.02)");
    }

    std::string now() const override { return "UTC_TIMESTAMP(3)"; }
    std::string after(int seconds) const override {
        return "TIMESTAMPADD(SECOND, " + std::to_string(seconds) + ", UTC_TIMESTAMP(3))";
    }
    std::string end_of_lease(int microseconds_later) const override {
        return "DATE'1970-01-01' + INTERVAL lease_end + " + std::to_string(microseconds_later) +
               " MICROSECOND";
    }
    void keep_whole_seconds() const override {
        query(
            "ALTER TABLE shedlock MODIFY lock_until TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,"
            " MODIFY locked_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP");
    }
    /// As the table that we make has it.
    void keep_milliseconds() const override {}

protected:
    /// In the order of the key, and not all in one go: a small server would swap pages.
    void plant_lines(int count, const std::string& last_fence) const override {
        constexpr int at_once = 10'000;
        for (int first = 1; first <= count; first += at_once) {
            const int last = std::min(first + at_once - 1, count);
            query("INSERT INTO holdfast_lines (id, name, capacity, last_fence, crowd) SELECT " +
                  its_id + ", its_name, 1000000000, " + last_fence + ", 1" +
                  lines_from(first, last) + "ORDER BY 1");
        }
    }

private:
    static std::string id_of(const std::string& name) {
        return "UNHEX(SHA2('holdfast/" + name + "', 256))";
    }

    MariadbServer server_;
};

}  // namespace

std::unique_ptr<Database> make_mariadb(DatabaseOptions options) {
    return std::make_unique<MariadbDatabase>(std::move(options));
}

}  // namespace holdfast::test
