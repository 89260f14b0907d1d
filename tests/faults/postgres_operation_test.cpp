#include "faults/sql_operation.hpp"
#include "servers/pgbouncer.hpp"
#include "servers/postgres_server.hpp"

namespace holdfast::test {
namespace {

struct PostgresOperationSite {
    PostgresServer server{{.tls = true}};
    static constexpr auto password_variable = "PGPASSWORD";

    std::string url_of(const std::string& user, const std::string& password,
                       const std::string& database = "postgres") const {
        return "postgres://" + user + (password.empty() ? "" : ":" + password) +
               "@127.0.0.1:" + std::to_string(server.port()) + "/" + database;
    }
    void add_user(const std::string& name, const std::string& password) const {
        server.query("CREATE USER " + name + " PASSWORD '" + password +
                     "'; GRANT ALL ON SCHEMA public TO " + name);
    }
    void demand_tls_of(const std::string& user) const {
        server.set_access("hostnossl all " + user + " all reject");
    }
    void refuse_writes(int count) const {
        server.query("CREATE SEQUENCE refused MINVALUE 0; SELECT nextval('refused')");
        server.query(R"(
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
    std::string refused() const { return server.query("SELECT last_value FROM refused"); }
    /// It goes on when the store waits for it, and looks for a deadlock so late that the store, who
    /// does so once, finds it first.
    void deadlock_with() const {
        server.query(
            "SET LOCAL deadlock_timeout = '1min'; SELECT 1 FROM holdfast_contenders FOR UPDATE;"
            "DO $$ BEGIN WHILE NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event_type = "
            "'Lock') LOOP PERFORM pg_sleep(0.02); PERFORM pg_stat_clear_snapshot(); END LOOP; END "
            "$$; SELECT 1 FROM holdfast_lines FOR UPDATE");
    }
    bool deadlock_is_prepared() const {
        return server.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") ==
               "1";
    }
    void become_read_only() { server.become_standby(); }
};

TEST(PostgresSchema, ThatTakesLongerToMakeThanARequestIsWaitedFor) {
    const PostgresServer server;
    auto busy = std::async(std::launch::async, [&] {
        server.query("BEGIN; LOCK TABLE pg_proc IN SHARE MODE; SELECT pg_sleep(3); COMMIT");
    });
    ASSERT_TRUE(await([&] {
        return server.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") ==
               "1";
    }));
    const auto client = connect(server.url() + "?request_timeout=1s");
    EXPECT_TRUE(client.mutex("orders").acquire().held());
    busy.get();
}

/// Where somebody has turned it off, for speed, a crash of the server would undo what was answered.
TEST(PostgresDurability, AnAdmissionOutlivesACrashWhateverTheDatabaseIsSetTo) {
    PostgresServer server({.settings = {"wal_writer_delay=10s"}});
    connect(server.url()).mutex("orders").acquire().release();
    server.query("ALTER DATABASE postgres SET synchronous_commit = off");
    const Client client = connect(server.url() + "?request_timeout=30s");
    auto hold = client.mutex("orders", {.lease = 30s}).acquire();
    server.kill();
    server.restart();
    const auto attempt = connect(server.url()).mutex("orders").try_acquire();
    EXPECT_FALSE(attempt) << "two hold it";
    EXPECT_TRUE(hold.held());
}

class PostgresBouncer : public testing::Test {
protected:
    PostgresServer server_;
};

TEST_F(PostgresBouncer, OneThatPoolsTransactionsIsNamedAndRefused) {
    const PgBouncer bouncer(server_.port(), "transaction");
    const Error error = error_of([&] { return connect(bouncer.url()); });
    EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
    expect_says(error, "PgBouncer");
    expect_says(error, "use the address of the server itself");
}

}  // namespace
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, SqlOperation, PostgresOperationSite);
}  // namespace holdfast::test
