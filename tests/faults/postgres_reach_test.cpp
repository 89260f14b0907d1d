#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "faults/host_names.hpp"
#include "faults/server_faults.hpp"
#include "servers/postgres_server.hpp"
#include "support/contender.hpp"
#include "support/loopback.hpp"

/// By which ways a PostgreSQL server is reached, and what is one lock there.
namespace holdfast::test {
namespace {

/// Takes connections and says nothing.
Socket silent_listener(const char* address, int port) {
    Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, address, &name.sin_addr);
    EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    EXPECT_EQ(listen(listener.get(), 5), 0);
    return listener;
}

class PostgresReach : public testing::Test {
protected:
    std::string url_of(const std::string& who, const std::string& parameters = "") const {
        return "postgres://" + who + "@127.0.0.1:" + std::to_string(server_.port()) + "/postgres" +
               parameters;
    }
    std::string url_by_name(const std::string& parameters = "") const {
        return "postgres://postgres@db.test:" + std::to_string(server_.port()) + "/postgres" +
               parameters;
    }
    /// A user with a schema of its own, which comes first in its search_path.
    void add_user_with_schema(const std::string& name) const {
        server_.query("CREATE USER " + name + " PASSWORD 'secret'; CREATE SCHEMA " + name +
                      " AUTHORIZATION " + name + "; GRANT ALL ON SCHEMA public TO " + name);
    }

    PostgresServer server_;
};

TEST_F(PostgresReach, AnAddressThatRefusesIsFollowedByTheNextOfTheName) {
    const HostName name("db.test", {"127.0.0.2", "127.0.0.3", "127.0.0.1"});
    EXPECT_EQ(connect(url_by_name()).mutex("orders").acquire().release(), Released::in_time);
}

TEST_F(PostgresReach, AnAddressThatSaysNothingTakesItsPartOfTheTimeAndNoMore) {
    const Socket silent = silent_listener("127.0.0.2", server_.port());
    const HostName name("db.test", {"127.0.0.2", "127.0.0.1"});
    const Client client = connect(url_by_name("?connect_timeout=1s&request_timeout=20s"));
    EXPECT_EQ(client.mutex("orders").acquire().release(), Released::in_time);
}

TEST_F(PostgresReach, WhenNoAddressAnswersTheReasonIsTold) {
    const HostName name("db.test", {"127.0.0.2", "127.0.0.3"});
    const Error error = error_of([&] { return connect(url_by_name("?request_timeout=500ms")); });
    EXPECT_EQ(error.code(), errc::unreachable);
    expect_says(error, "refused");
}

TEST_F(PostgresReach, UsersWithSchemasOfTheirOwnMeetInOneLock) {
    add_user_with_schema("first");
    const Client first = connect(url_of("first:secret"));
    auto hold = first.mutex("orders").acquire();
    server_.query("GRANT ALL ON ALL TABLES IN SCHEMA public TO PUBLIC");
    add_user_with_schema("second");
    const auto attempt = connect(url_of("second:secret")).mutex("orders").try_acquire();
    EXPECT_FALSE(attempt) << "both hold it, with fences " << hold.fence() << " and "
                          << attempt->fence();
}

TEST_F(PostgresReach, ASchemaOfAnotherNameHasOtherLocks) {
    server_.query(R"(CREATE SCHEMA "Team \ ""one""")");
    const std::string parameter = "?schema=Team%20%5C%20%22one%22";
    auto hold = connect(url_of("postgres")).mutex("orders").acquire();
    auto other = connect(url_of("postgres", parameter)).mutex("orders").try_acquire();
    ASSERT_TRUE(other);
    const auto same = connect(url_of("postgres", parameter)).mutex("orders").try_acquire();
    EXPECT_FALSE(same);
    EXPECT_EQ(server_.query(R"(SELECT count(*) FROM "Team \ ""one""".holdfast_lines)"), "1");
}

TEST_F(PostgresReach, ASchemaThatIsNotThereIsNamedAsTheReason) {
    const Error error = error_of([&] { return connect(url_of("postgres", "?schema=nowhere")); });
    EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
    expect_says(error, "?schema=");
}

/// The functions that say how full the queue is, and that fill it, are replaced: a real one has
/// gigabytes. By SQL, which is put in their place; what else stands there is not called.
TEST_F(PostgresReach, AFullQueueOfNotificationsFailsNoRelease) {
    const Client holder = connect(url_of("postgres"));
    const Client client = connect(url_of("postgres"));
    auto hold = holder.mutex("orders", {.lease = 30s}).acquire();
    Acquiring waiting(client, "orders", {.lease = 900ms});
    ASSERT_TRUE(await([&] { return waiters_of(holder, "orders") == 1; }));
    server_.query(R"(
        CREATE FUNCTION refuse_to_tell(text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
            RAISE EXCEPTION 'too many notifications in the NOTIFY queue'
                USING ERRCODE = 'program_limit_exceeded';
        END $$;
        CREATE OR REPLACE FUNCTION pg_catalog.pg_notify(text, text)
            RETURNS void LANGUAGE sql AS 'SELECT public.refuse_to_tell($1)';
        CREATE OR REPLACE FUNCTION pg_catalog.pg_notification_queue_usage()
            RETURNS double precision LANGUAGE sql AS 'SELECT 1.0::double precision')");
    EXPECT_EQ(hold.release(), Released::in_time);
    auto next = waiting.get();
    EXPECT_GT(next.fence(), hold.fence());
    EXPECT_EQ(next.release(), Released::in_time);
}

/// What an older version of holdfast has made is still there, and says something else.
TEST_F(PostgresReach, AMendedFunctionReachesADatabaseThatHasTheOldOne) {
    connect(url_of("postgres")).mutex("orders").acquire().release();
    server_.query(R"(
        DO $$ DECLARE one record; BEGIN
            FOR one IN SELECT oid::regprocedure AS itself, proname FROM pg_proc
                WHERE proname LIKE 'holdfast\_%\_enter' AND pronamespace = 'public'::regnamespace
            LOOP
                EXECUTE 'ALTER FUNCTION ' || one.itself || ' RENAME TO '
                    || regexp_replace(one.proname, '_[0-9a-f]+_', '_00000000_');
            END LOOP;
        END $$)");
    EXPECT_EQ(connect(url_of("postgres")).mutex("orders").acquire().release(), Released::in_time);
    EXPECT_EQ(server_.query(R"(SELECT count(*) FROM pg_proc WHERE proname LIKE 'holdfast\_%\_enter'
                                   AND proname NOT LIKE '%shedlock%')"),
              "2");
}

}  // namespace
}  // namespace holdfast::test
