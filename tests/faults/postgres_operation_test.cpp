#include "faults/server_faults.hpp"
#include "servers/pgbouncer.hpp"
#include "servers/postgres_server.hpp"
#include "stores/open_store.hpp"

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

/// Somebody else's transaction, with the row of a resource for so long.
class RowHolder {
public:
    RowHolder(const PostgresServer& server, const std::string& name, const std::string& seconds)
        : holding_(std::async(std::launch::async, [&server, name, seconds] {
              server.query("SELECT FROM holdfast_lines WHERE name = 'holdfast/" + name +
                           "' FOR UPDATE; SELECT pg_sleep(" + seconds + ")");
          })) {}

private:
    std::future<void> holding_;
};

/// Whoever gives up the wait goes to the end of the queue for the row, behind all that came.
TEST(PostgresRenewal, OfALongLeaseKeepsItsPlaceAmongThoseWhoWaitForTheRow) {
    const PostgresServer server;
    const auto opened = open_store(server.url() + "?request_timeout=3s");
    const Contender one{.resource = opened.prefix + "orders",
                        .nonce = {.bytes = {std::byte{1}}},
                        .owner = "it",
                        .lease = 30s};
    const Ticket ticket = opened.store->enter({&one, 1}).get().value().front().ticket;
    const auto sessions_where = [&](const std::string& condition) {
        return server.query("SELECT count(*) FROM pg_stat_activity WHERE " + condition);
    };
    const RowHolder first(server, "orders", "1.4");
    ASSERT_TRUE(await([&] { return sessions_where("wait_event = 'PgSleep'") == "1"; }));
    auto renewing = std::async(std::launch::async, [&] {
        return opened.store->renew({&ticket, 1}, 30s).get();
    });
    ASSERT_TRUE(await([&] { return sessions_where("wait_event_type = 'Lock'") == "1"; }));
    const RowHolder next(server, "orders", "2");
    const auto renewed = renewing.get();
    EXPECT_TRUE(renewed.ok()) << renewed.failure().sentence;
}

/// It waits for the commits of all others in the server that tell somebody something.
TEST(PostgresRenewal, LeavesItsCommitAsMuchTimeAsAnyOther) {
    const PostgresServer server;
    connect(server.url()).mutex("orders").acquire().release();
    for (const std::string call :
         {"_renew('a', 'b', 1000, 1)", "_renew_all('{a,b}', '{c,d}', '{1000,1000}', '{1,1}')",
          "_beside_shedlock('renew', 'a', 'b', '1000', '1', '61')"}) {
        const std::string said = server.query(
            "CREATE TABLE IF NOT EXISTS shedlock (name varchar(64) PRIMARY KEY, lock_until "
            "timestamp, locked_at timestamp, locked_by varchar(255));"
            "SET LOCAL lock_timeout = '7s'; DO $do$ DECLARE its text; BEGIN"
            " SELECT left(proname, 17) INTO its FROM pg_proc WHERE proname LIKE 'holdfast%_renew';"
            " EXECUTE 'SELECT ' || its || $call$" +
            call + "$call$; END $do$; SELECT current_setting('lock_timeout')");
        EXPECT_EQ(said.substr(said.size() - 2), "7s") << call;
    }
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
