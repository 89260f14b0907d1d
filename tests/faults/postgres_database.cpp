#include "faults/databases.hpp"
#include "servers/postgres_server.hpp"

namespace holdfast::test {
namespace {

/// How a line of that many names is found, of names 1, 2, 3 and so on behind the usual prefix.
std::string lines_of(int count) {
    return " FROM (SELECT 'holdfast/' || i AS its_name, i FROM generate_series(1, " +
           std::to_string(count) + ") i) named ";
}
const std::string its_id = "sha256(convert_to(its_name, 'UTF8'))";
const std::string this_moment = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

class PostgresDatabase final : public Database {
public:
    explicit PostgresDatabase(DatabaseOptions options)
        : server_({.tls = options.tls,
                   .settings = std::move(options.settings),
                   .under = std::move(options.under)}) {}

    ServerProcess& server() override { return server_; }
    std::string query(const std::string& statements) const override {
        return server_.query(statements);
    }
    SqlDialect dialect() const override { return SqlDialect::postgres; }
    std::string changed(const std::string& statement) const override {
        return query("WITH done AS (" + statement + " RETURNING 1) SELECT count(*) FROM done");
    }
    std::string sessions() const override {
        return query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'holdfast'");
    }

    std::string url_of(const std::string& user, const std::string& password,
                       const std::string& database) const override {
        return "postgres://" + user + (password.empty() ? "" : ":" + password) + "@" +
               server_.address() + "/" + (database.empty() ? "postgres" : database);
    }
    void add_user(const std::string& name, const std::string& password) const override {
        query("CREATE USER " + name + " PASSWORD '" + password +
              "'; GRANT ALL ON SCHEMA public TO " + name);
    }
    void demand_tls_of(const std::string& user) const override {
        server_.set_access("hostnossl all " + user + " all reject");
    }
    const char* password_variable() const override { return "PGPASSWORD"; }

    void refuse_writes(int count) const override {
        query("CREATE SEQUENCE refused MINVALUE 0; SELECT nextval('refused')");
        query(R"(
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF currval_of_refused() < )" +
              std::to_string(count) + R"( THEN
                    PERFORM nextval('refused');
                    RAISE EXCEPTION 'they met' USING ERRCODE = 'serialization_failure';
                END IF;
                RETURN NEW;
            END $$;
            CREATE FUNCTION currval_of_refused() RETURNS bigint LANGUAGE sql AS
                'SELECT last_value FROM refused';
            CREATE TRIGGER refuse BEFORE INSERT ON holdfast_contenders
                FOR EACH ROW EXECUTE FUNCTION refuse())");
    }
    std::string refused() const override { return query("SELECT last_value FROM refused"); }
    /// It goes on when the store waits for it, and looks for a deadlock so late that the store, who
    /// does so once, finds it first.
    void deadlock() const override {
        query(
            "SET LOCAL deadlock_timeout = '1min'; SELECT 1 FROM holdfast_contenders FOR UPDATE;"
            "DO $$ BEGIN WHILE NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event_type = "
            "'Lock') LOOP PERFORM pg_sleep(0.02); PERFORM pg_stat_clear_snapshot(); END LOOP; END "
            "$$; SELECT 1 FROM holdfast_lines FOR UPDATE");
    }
    bool deadlock_is_prepared() const override { return are_held(1); }
    void hold_row_of(const std::string& name, double seconds) const override {
        query("SELECT 1 FROM holdfast_lines WHERE name = 'holdfast/" + name +
              "' FOR UPDATE; SELECT pg_sleep(" + std::to_string(seconds) + ")");
    }
    void hold_contenders_of(const std::string& name, double seconds) const override {
        query("SELECT 1 FROM holdfast_contenders WHERE line = " + id_of(name) +
              " FOR UPDATE; SELECT pg_sleep(" + std::to_string(seconds) + ")");
    }
    bool are_held(int transactions) const override {
        return query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") ==
               std::to_string(transactions);
    }
    void refuse_renewals_of(const std::string& name) const override {
        query(R"(
            CREATE FUNCTION refuse_renewals() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'not this one'; END $$;
            CREATE TRIGGER refuse_renewals BEFORE UPDATE ON holdfast_contenders
                FOR EACH ROW WHEN (OLD.line = )" +
              id_of(name) + ") EXECUTE FUNCTION refuse_renewals()");
    }
    void become_read_only() override { server_.become_standby(); }
    void drop_column() const override {
        query("ALTER TABLE holdfast_contenders DROP COLUMN lease_end");
    }
    /// Functions of that version stay, and with them what they need of the tables.
    void become_older() const override {
        query(R"(
            DO $$ DECLARE one record; BEGIN
                FOR one IN SELECT oid::regprocedure AS itself, proname FROM pg_proc
                    WHERE proname LIKE 'holdfast\_%'
                LOOP
                    EXECUTE 'ALTER FUNCTION ' || one.itself || ' RENAME TO '
                        || overlay(one.proname PLACING 'holdfast_older' FROM 1 FOR 17);
                END LOOP;
            END $$;
            ALTER TABLE holdfast_contenders DROP COLUMN serial)");
    }

    void plant_dead_waiters(int count) const override {
        query(
            "INSERT INTO holdfast_contenders (line, nonce, phase, ticket, weight, lease_end)"
            " SELECT id, md5(i::text), 'waiting', i, 1000000000, 1"
            " FROM holdfast_lines, generate_series(1, " +
            std::to_string(count) + ") i");
    }
    void plant_dead_contenders(int count) const override {
        plant_lines(count, this_moment);
        query("INSERT INTO holdfast_contenders (line, nonce, phase, lease_end) SELECT " + its_id +
              ", md5(its_name), 'left', 1" + lines_of(count));
    }
    void plant_waiters(int lines, int each) const override {
        plant_lines(lines, this_moment);
        query(
            "INSERT INTO holdfast_contenders (line, nonce, phase, ticket, weight, lease_end, owner)"
            " SELECT " +
            its_id + ", md5(its_name || ' ' || j), 'waiting', j, 1000000000, " + this_moment +
            " + 3600000000, j::text" + lines_of(lines) + ", generate_series(1, " +
            std::to_string(each) + ") j");
    }
    void slow_down_deleting() const override {
        query(R"(
            CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN PERFORM pg_sleep(0.02); RETURN OLD; END $$;
            CREATE TRIGGER dawdle BEFORE DELETE ON holdfast_contenders
                FOR EACH ROW EXECUTE FUNCTION dawdle())");
    }

    std::string now() const override { return "timezone('utc', clock_timestamp())"; }
    std::string after(int seconds) const override {
        return now() + " + interval '" + std::to_string(seconds) + " s'";
    }
    std::string end_of_lease(int microseconds_later) const override {
        return "timestamp '1970-01-01' + (lease_end + " + std::to_string(microseconds_later) +
               ") * interval '1 microsecond'";
    }
    void keep_whole_seconds() const override { keep_digits("0"); }
    void keep_milliseconds() const override { keep_digits("3"); }

protected:
    void plant_lines(int count, const std::string& last_fence) const override {
        query("INSERT INTO holdfast_lines (id, name, capacity, last_fence) SELECT " + its_id +
              ", its_name, 1000000000, " + last_fence + lines_of(count));
    }

private:
    static std::string id_of(const std::string& name) {
        return "sha256(convert_to('holdfast/" + name + "', 'UTF8'))";
    }
    void keep_digits(const std::string& count) const {
        query("ALTER TABLE shedlock ALTER COLUMN lock_until TYPE timestamp(" + count +
              "), ALTER COLUMN locked_at TYPE timestamp(" + count + ")");
    }

    PostgresServer server_;
};

}  // namespace

std::unique_ptr<Database> make_postgres(DatabaseOptions options) {
    return std::make_unique<PostgresDatabase>(std::move(options));
}

}  // namespace holdfast::test
