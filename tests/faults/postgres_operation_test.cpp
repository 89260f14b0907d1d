#include "faults/server_faults.hpp"
#include "servers/pgbouncer.hpp"
#include "servers/postgres_server.hpp"

namespace holdfast::test {
namespace {

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

/// It is there, and the server says so, but no replica may have it yet: if that is promoted, two
/// hold. And a replica that is away makes every commit wait, so somebody cancels them.
TEST(PostgresDurability, AnAdmissionWhoseWaitForAReplicaIsCancelledDoesNotCount) {
    const PostgresServer server(
        {.settings = {"synchronous_standby_names=nobody", "synchronous_commit=local"}});
    connect(server.url()).mutex("orders").acquire().release();
    server.query("ALTER DATABASE postgres SET synchronous_commit = on");
    const Client client = connect(server.url() + "?request_timeout=1s");
    auto trying = std::async(std::launch::async, [&] {
        return error_of([&] { return client.mutex("orders", {.lease = 30s}).try_acquire(); });
    });
    ASSERT_TRUE(await([&] {
        return server.query(
                   "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity"
                   " WHERE wait_event = 'SyncRep'") != "0";
    }));
    const Error error = trying.get();
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    EXPECT_EQ(error.effect(), Effect::unknown);
    expect_says(error, "cancelled");
}

TEST(PostgresBouncer, OneThatPoolsTransactionsIsNamedAndRefused) {
    const PostgresServer server;
    const PgBouncer bouncer(server.port(), "transaction");
    const Error error = error_of([&] { return connect(bouncer.url()); });
    EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
    expect_says(error, "PgBouncer");
    expect_says(error, "use the address of the server itself");
}

}  // namespace
}  // namespace holdfast::test
