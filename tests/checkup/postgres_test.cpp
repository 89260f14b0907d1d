#include <holdfast/holdfast.hpp>

#include "checkup/examined.hpp"
#include "servers/pgbouncer.hpp"
#include "servers/postgres_server.hpp"
#include "support/child.hpp"

namespace holdfast::test {
namespace {

errc refusal_of(const std::string& url, const std::string& words) {
    try {
        static_cast<void>(check_up(url));
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr(words));
        return static_cast<errc>(error.code().value());
    }
    ADD_FAILURE() << url << " was checked";
    return {};
}

class CheckedPostgres : public testing::Test {
protected:
    void set(const std::string& name, const std::string& value) const {
        server_.query("ALTER SYSTEM SET " + name + " = '" + value + "'");
        server_.query("SELECT pg_reload_conf()");
        ASSERT_TRUE(await([&] { return server_.query("SHOW " + name) == value; }));
    }
    Names found(const std::string& parameters = "") const {
        return found_on(server_.url() + parameters);
    }

    PostgresServer server_{{.settings = {"fsync=on"}}};
};

TEST_F(CheckedPostgres, IsWellAndNoLockStays) {
    const Checkup checkup = expect_well(server_.url());
    ASSERT_TRUE(checkup.clock_ahead);
    EXPECT_LT(std::chrono::abs(*checkup.clock_ahead), 500ms);
    EXPECT_EQ(server_.query("SELECT count(*) FROM holdfast_contenders"), "0");
    EXPECT_EQ(server_.query("SELECT count(*) FROM holdfast_lines"), "1") << "its last fence";
}

TEST_F(CheckedPostgres, FindsWhatACrashWouldUndo) {
    EXPECT_THAT(found(), IsEmpty());
    set("synchronous_commit", "off");
    EXPECT_THAT(found(), ElementsAre("postgres.late_commit"));
    set("synchronous_commit", "on");
    set("full_page_writes", "off");
    EXPECT_THAT(found(), ElementsAre("postgres.forgets"));
    const PostgresServer hasty;
    ASSERT_EQ(hasty.query("SHOW fsync"), "off");
    EXPECT_THAT(found_on(hasty.url()), ElementsAre("postgres.forgets"));
}

TEST_F(CheckedPostgres, FindsTwoSchemas) {
    server_.query("CREATE SCHEMA other");
    EXPECT_THAT(found(), IsEmpty());
    EXPECT_THAT(found("?schema=other"), ElementsAre("postgres.schemas"));
    EXPECT_THAT(found(), ElementsAre("postgres.schemas"));
}

TEST_F(CheckedPostgres, FindsReplicasThatNobodyWaitsFor) {
    const TemporaryFolder folder;
    server_.set_access("local replication postgres trust");
    // It takes all that is written, as a replica does.
    const Child replica({HOLDFAST_TEST_POSTGRES_PROGRAMS "/pg_receivewal", "-h",
                         server_.folder().string(), "-p", std::to_string(server_.port()), "-U",
                         "postgres", "--synchronous", "-D", folder.path().string()});
    ASSERT_TRUE(
        await([&] { return server_.query("SELECT count(*) FROM pg_stat_replication") == "1"; }));
    EXPECT_THAT(found(), ElementsAre("postgres.unconfirmed"));
    set("synchronous_standby_names", "pg_receivewal");
    ASSERT_TRUE(await(
        [&] { return server_.query("SELECT sync_state FROM pg_stat_replication") == "sync"; }));
    EXPECT_THAT(found(), IsEmpty());
    set("synchronous_commit", "local");
    EXPECT_THAT(found(), ElementsAre("postgres.unconfirmed"));
}

TEST(CheckedPostgresConnections, AreFoundToBeUsedUp) {
    const PostgresServer server({.settings = {"fsync=on", "max_connections=6"}});
    const Client holding = connect(server.url());
    const Hold hold = holding.mutex("orders").acquire();
    EXPECT_THAT(found_on(server.url()), ElementsAre("postgres.connections"));
}

TEST_F(CheckedPostgres, IsRefusedAsEverBehindAPoolerOrAsAReplica) {
    const PgBouncer pooler(server_.port(), "transaction");
    EXPECT_EQ(refusal_of(pooler.url() + "?request_timeout=1s", "pooler"), errc::bad_configuration);
    static_cast<void>(found());
    server_.become_standby();
    EXPECT_EQ(refusal_of(server_.url() + "?request_timeout=1s", "read-only"), errc::unreachable);
}

}  // namespace
}  // namespace holdfast::test
