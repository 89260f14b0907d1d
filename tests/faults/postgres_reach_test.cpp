#include "faults/server_faults.hpp"
#include "servers/postgres_server.hpp"
#include "support/contender.hpp"

/// By which ways a PostgreSQL server is reached, and what is one lock there.
namespace holdfast::test {
namespace {

class PostgresReach : public testing::Test {
protected:
    std::string url_of(const std::string& who, const std::string& parameters = "") const {
        return "postgres://" + who + "@127.0.0.1:" + std::to_string(server_.port()) + "/postgres" +
               parameters;
    }
    /// A user with a schema of its own, which comes first in its search_path.
    void add_user_with_schema(const std::string& name) const {
        server_.query("CREATE USER " + name + " PASSWORD 'secret'; CREATE SCHEMA " + name +
                      " AUTHORIZATION " + name + "; GRANT ALL ON SCHEMA public TO " + name);
    }

    PostgresServer server_;
};

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

/// The functions that say how full the queue is, and that fill it, are
/// replaced: a real one has gigabytes. By SQL, which is put in their place;
/// what else stands there is not called.
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

/// What an older version of holdfast has made is still there, and says
/// something else.
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
    EXPECT_EQ(server_.query(
                  R"(SELECT count(*) FROM pg_proc WHERE proname LIKE 'holdfast\_%\_enter'
                                   AND proname NOT LIKE '%shedlock%')"),
              "2");
}

}  // namespace
}  // namespace holdfast::test
