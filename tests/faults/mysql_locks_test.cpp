#include "faults/server_faults.hpp"
#include "servers/mariadb_server.hpp"
#include "stores/mysql/mysql_scripts.hpp"
#include "support/contender.hpp"

/// The locks of a server other than those of rows: of whole tables, and by name.
namespace holdfast::test {
namespace {

class MysqlLocks : public testing::Test {
protected:
    std::string query(const std::string& statements) const {
        return server_.query("USE locks; " + statements);
    }
    int sessions() const {
        return std::stoi(server_.query(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'locks'"));
    }
    /// Which session has the lock that the sleeper of this client waits for.
    std::string awake_of(const std::string& client) const {
        return server_.query("SELECT IS_USED_LOCK('holdfast_" + client + "_awake')");
    }

    MariadbServer server_;
};

/// A backup has them for as long as it waits for some long query to end. The server has a limit of
/// its own for that wait: a day, or a year.
TEST_F(MysqlLocks, AWaitForALockOfAllTablesIsToldAsSuch) {
    const Client client = connect(server_.url() + "?request_timeout=1500ms");
    client.mutex("orders").acquire().release();
    auto backup = std::async(std::launch::async,
                             [&] { server_.query("FLUSH TABLES WITH READ LOCK; DO SLEEP(3)"); });
    ASSERT_TRUE(await([&] {
        return server_.query(
                   "SELECT COUNT(*) FROM information_schema.processlist"
                   " WHERE state = 'User sleep'") == "1";
    }));
    const Error error = error_of([&] { return client.mutex("orders").try_acquire(); });
    EXPECT_EQ(error.code(), errc::unreachable);
    EXPECT_EQ(error.effect(), Effect::none);
    expect_says(error, "locked by somebody else");
    backup.get();
    EXPECT_EQ(client.mutex("orders").acquire().release(), Released::in_time);
}

/// The sleeper sleeps by waiting for it, and would look once a second without.
TEST_F(MysqlLocks, TheLockThatASleeperWaitsForIsHadAgainWhenWhoeverHadItIsGone) {
    const Client holder = connect(server_.url());
    const Client client = connect(server_.url());
    auto hold = holder.mutex("orders", {.lease = 30s}).acquire();
    Acquiring waiting(client, "orders", {.lease = 3s});
    ASSERT_TRUE(await([&] { return waiters_of(holder, "orders") == 1; }));
    const std::string who = query("SELECT client FROM holdfast_contenders WHERE phase = 'waiting'");
    const std::string first = awake_of(who);
    ASSERT_NE(first, "NULL");
    // The holder's, the sleeper's and two for requests.
    ASSERT_TRUE(await([&] {
        std::vector<std::future<void>> busy;
        for (int i = 0; i < 4; ++i) {
            busy.push_back(std::async(std::launch::async, [&client, i] {
                client.mutex("r" + std::to_string(i)).acquire().release();
            }));
        }
        for (auto& one : busy) one.get();
        return sessions() >= 4;
    }));
    server_.query("KILL " + first);
    EXPECT_TRUE(await(
        [&] {
            const std::string now = awake_of(who);
            return now != "NULL" && now != first;
        },
        6s));
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_GT(waiting.get().fence(), hold.fence());
}

/// As when it was told something at the very moment when it got that lock: it would wait for
/// itself no more, and ask without pause.
TEST_F(MysqlLocks, ASleeperThatHasTheLockItWaitsForGivesItBackAndSleeps) {
    const Client client = connect(server_.url());
    client.mutex("orders").acquire().release();
    const std::string prefix(mysql::scripts::prefix);
    const auto started = Clock::now();
    const std::string said = query("DO GET_LOCK('holdfast_somebody_awake', 0); CALL " + prefix +
                                   "listen('somebody', '', 1);"
                                   "SELECT IS_USED_LOCK('holdfast_somebody_awake')");
    EXPECT_GE(Clock::now() - started, 900ms);
    EXPECT_EQ(said, "NULL");
}

}  // namespace
}  // namespace holdfast::test
