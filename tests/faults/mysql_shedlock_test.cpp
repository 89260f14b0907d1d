#include "faults/server_faults.hpp"
#include "servers/mariadb_server.hpp"
#include "stores/mysql/mysql_scripts.hpp"
#include "support/contender.hpp"

namespace holdfast::test {
namespace {

/// What a client sends, but for the end of the transaction.
std::string enter_of(const std::string& nonce) {
    const std::string call = "CALL " + std::string(mysql::scripts::prefix);
    const std::string names = "shedlock('%shedlock/report', HEX('report'));";
    return "USE locks; START TRANSACTION;" + call + "from_" + names + call +
           "enter('%shedlock/report', '" + nonce +
           "', 'client', 'owner', 'host', 7, 1000000000, 1000000000, 'b', 'w', 30000, 0, 0);" +
           call + "to_" + names;
}

TEST(MariadbShedlock, ARequestIsOneTransactionWhateverComesOfIt) {
    const MariadbServer server;
    const Client client = connect(server.url() + "?layout=shedlock");
    server.query(enter_of("first") + "COMMIT");
    const std::string open = enter_of("second") + "SELECT @@in_transaction";
    EXPECT_TRUE(server.query(open).ends_with("\n1")) << "a waiter was seen before the row was";
}

/// Whose sessions have a zone of their own.
TEST(MariadbShedlock, ItsSessionsMayHaveAnotherZoneThanTheServer) {
    const MariadbServer server({.settings = {"default-time-zone=+00:00"}});
    const Client client = connect(server.url() + "?layout=shedlock&zone=%2B02:00");
    const std::string in_zone = "SET time_zone = '+02:00'; ";
    server.query(in_zone +
                 "INSERT INTO locks.shedlock VALUES ('report', TIMESTAMPADD(SECOND, 60, "
                 "UTC_TIMESTAMP(3)), UTC_TIMESTAMP(3), 'theirs')");
    const auto attempt = client.mutex("report").try_acquire();
    EXPECT_FALSE(attempt);
    server.query(in_zone + "UPDATE locks.shedlock SET lock_until = UTC_TIMESTAMP(3)");
    auto hold = client.mutex("report", {.lease = 30s}).acquire();
    EXPECT_EQ(
        server.query(in_zone + "SELECT lock_until > UTC_TIMESTAMP(3) AND lock_until < "
                               "TIMESTAMPADD(MINUTE, 1, UTC_TIMESTAMP(3)) FROM locks.shedlock"),
        "1");
}

/// That its row was locked for too long, say.
TEST(MariadbShedlock, ARequestThatFailsLeavesItsSessionInTheZoneOfOurs) {
    const MariadbServer server({.settings = {"default-time-zone=+02:00"}});
    const Client client = connect(server.url() + "?layout=shedlock&request_timeout=1500ms");
    client.mutex("report").acquire().release();
    server.query(
        "USE locks; CREATE TABLE seen (zone TEXT) ENGINE = Aria TRANSACTIONAL = 0;"
        "CREATE TRIGGER look BEFORE UPDATE ON holdfast_lines FOR EACH ROW"
        " INSERT INTO seen VALUES (@@SESSION.time_zone)");
    auto locked = std::async(std::launch::async, [&] {
        server.query(
            "USE locks; START TRANSACTION; SELECT 1 FROM shedlock FOR UPDATE; DO SLEEP(2)");
    });
    ASSERT_TRUE(await([&] {
        return server.query(
                   "SELECT COUNT(*) FROM information_schema.processlist"
                   " WHERE state = 'User sleep'") == "1";
    }));
    EXPECT_EQ(error_of([&] { return client.mutex("report").try_acquire(); }).code(),
              errc::unreachable);
    locked.get();
    EXPECT_EQ(client.mutex("report").acquire().release(), Released::in_time);
    EXPECT_EQ(server.query("SELECT DISTINCT zone FROM locks.seen"), "+00:00");
}

TEST(MariadbShedlock, AZoneThatTheServerDoesNotKnowIsNamed) {
    const MariadbServer server;
    const Client client = connect(server.url());
    const Error error = error_of([&] {
        return connect(server.url() + "?layout=shedlock&zone=Nowhere").mutex("report").acquire();
    });
    EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
    expect_says(error, "zone");
    EXPECT_EQ(error_of([&] { return connect(server.url() + "?zone=UTC"); }).code(),
              errc::bad_configuration);
}

/// Between reading and writing its row theirs would get in.
TEST(MariadbShedlock, ATableWithoutTransactionsIsRefused) {
    const MariadbServer server;
    const Client client = connect(server.url() + "?layout=shedlock");
    for (const std::string engine : {"MyISAM", "Aria"}) {
        server.query("ALTER TABLE locks.shedlock ENGINE = " + engine);
        const Client other = connect(server.url() + "?layout=shedlock");
        const Error error = error_of([&] { return other.mutex("report").try_acquire(); });
        EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
        expect_says(error, "ENGINE = InnoDB");
    }
    server.query("ALTER TABLE locks.shedlock ENGINE = InnoDB");
    EXPECT_EQ(client.mutex("report").acquire().release(), Released::in_time);
}

class MariadbShedlockTable : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Collations, MariadbShedlockTable,
                         testing::Values("utf8mb4 COLLATE utf8mb4_unicode_ci",
                                         "utf8mb4 COLLATE utf8mb4_general_ci",
                                         "utf8mb4 COLLATE utf8mb4_bin",
                                         "utf8mb3 COLLATE utf8mb3_general_ci",
                                         "latin1 COLLATE latin1_swedish_ci"));

TEST_P(MariadbShedlockTable, MayHaveAnyCollation) {
    const MariadbServer server;
    const Client client = connect(server.url() + "?layout=shedlock");
    server.query("ALTER TABLE locks.shedlock CONVERT TO CHARACTER SET " + std::string(GetParam()));
    auto hold = client.mutex("r\xc3\xa9port", {.lease = 30s}).acquire();
    EXPECT_EQ(waiters_of(client, "r\xc3\xa9port"), 0U);
    const auto found = client.look_at("r\xc3\xa9port");
    ASSERT_TRUE(found && found->holders.size() == 1);
    EXPECT_EQ(found->holders[0].fence, hold.fence());
    EXPECT_EQ(hold.release(), Released::in_time);
    server.query(
        "UPDATE locks.shedlock SET lock_until = TIMESTAMPADD(MINUTE, 1, UTC_TIMESTAMP(3)),"
        " locked_by = 'theirs'");
    const auto attempt = client.mutex("r\xc3\xa9port").try_acquire();
    EXPECT_FALSE(attempt);
    const auto theirs = client.look_at("r\xc3\xa9port");
    ASSERT_TRUE(theirs && theirs->holders.size() == 1);
    EXPECT_EQ(theirs->holders[0].owner, "theirs");
}

}  // namespace
}  // namespace holdfast::test
