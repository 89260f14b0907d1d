#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <holdfast/upkeep.hpp>

#include "faults/server_faults.hpp"
#include "servers/mariadb_server.hpp"
#include "support/byte_proxy.hpp"
#include "support/contender.hpp"

/// By which ways a MySQL server is reached, and what one that does not answer
/// as it should costs.
namespace holdfast::test {
namespace {

class MysqlReach : public testing::Test {
protected:
    MariadbServer server_{{.tls = true}};
};

TEST_F(MysqlReach, AHandshakeThatStallsCostsNoHold) {
    ByteProxy proxy(server_.port());
    const std::string authority = certificates().authority.certificate;
    const Client client =
        connect(server_.url_through(proxy.port()) + "?connect_timeout=10s&tls_ca=" + authority);
    const Client rival = connect(server_.url());
    auto hold = client.mutex("orders", {.lease = 2s}).acquire();
    auto others = rival.mutex("stock", {.lease = 30s}).acquire();
    proxy.stall();
    // Who waits needs a connection of its own.
    Acquiring waiting(client, "stock", {.lease = 30s});
    ASSERT_TRUE(await([&] { return proxy.stalled() > 0; }));
    EXPECT_FALSE(await([&] { return hold.lost().stop_requested(); }, 3s));
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_F(MysqlReach, AHandshakeThatStallsIsGivenUpInTime) {
    ByteProxy proxy(server_.port());
    proxy.stall();
    const std::string authority = certificates().authority.certificate;
    const auto started = Clock::now();
    const Error error = error_of([&] {
        return connect(server_.url_through(proxy.port()) +
                       "?connect_timeout=300ms&request_timeout=700ms&tls_ca=" + authority);
    });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    EXPECT_LT(Clock::now() - started, 3s);
}

/// Set in a process that is to end with 1 when a thread of ours connects while
/// libraries end.
constexpr auto looks_at_the_end = "HOLDFAST_TEST_LOOKS_AT_THE_END";

bool nobody_connects() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        if (name == "hf-mysql") return false;
    }
    return true;
}

/// Behind all that is asked for by std::atexit(), as the destructors of
/// libraries are.
[[gnu::destructor]] void look_at_the_end() {
    // One that has done its work may still be on its way out.
    if (std::getenv(looks_at_the_end) != nullptr) _exit(await(nobody_connects, 2s) ? 0 : 1);
}

TEST_F(MysqlReach, AHandshakeThatStallsIsOverBeforeTheProgramIs) {
    ByteProxy proxy(server_.port());
    const std::string authority = certificates().authority.certificate;
    const Contenders contenders(server_.url_through(proxy.port()) +
                                "?connect_timeout=30s&tls_ca=" + authority);
    const Client rival = connect(server_.url());
    auto hold = rival.mutex("stock", {.lease = 30s}).acquire();
    Child child = contenders.talker({"env", std::string(looks_at_the_end) + "=1"});
    ASSERT_EQ(child.hear(), "ready");
    proxy.stall();
    // Who waits needs a connection of its own.
    EXPECT_EQ(child.ask("stand_in_line stock 30000"), "asked");
    ASSERT_TRUE(await([&] { return proxy.stalled() > 0; }));
    child.say("exit");
    EXPECT_TRUE(ended_well(child));
}

/// What an older version of holdfast has made is still there, and says
/// something else.
TEST_F(MysqlReach, AMendedProcedureReachesADatabaseThatHasTheOldOne) {
    connect(server_.url()).mutex("orders").acquire().release();
    server_.query(R"(UPDATE mysql.proc SET
        name = REGEXP_REPLACE(name, '_[0-9a-f]{8}_', '_00000000_'),
        specific_name = name WHERE db = 'locks' AND name LIKE 'holdfast%enter')");
    // A resource that has no row yet needs the procedure.
    EXPECT_EQ(connect(server_.url()).mutex("stock").acquire().release(), Released::in_time);
    EXPECT_EQ(server_.query("SELECT COUNT(*) FROM mysql.proc WHERE db = 'locks' AND"
                            " name REGEXP '^holdfast_[0-9a-f]{8}_enter$'"),
              "2");
}

/// A sleeper locks nothing, so that nobody who hands over meets it.
TEST_F(MysqlReach, HandOversMeetNoSleeper) {
    constexpr int clients = 4;
    constexpr int rounds = 60;
    connect(server_.url()).mutex("orders").acquire().release();
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; ++i) {
        threads.emplace_back([&] {
            const Client client = connect(server_.url() + "?request_timeout=30s");
            for (int round = 0; round < rounds; ++round) {
                client.mutex("orders", {.lease = 30s}).acquire().release();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(server_.query("SELECT variable_value FROM information_schema.global_status"
                            " WHERE variable_name = 'Innodb_deadlocks'"),
              "0");
}

/// Who sleeps sees what is told before it is committed: here, one contender
/// after the other.
TEST_F(MysqlReach, AllWhoAreToldInOneTransactionHearOfIt) {
    constexpr int readers = 20;
    const Client holder = connect(server_.url() + "?request_timeout=30s");
    const Client client = connect(server_.url() + "?request_timeout=30s");
    auto writer = holder.shared_mutex("orders", {.lease = 30s}).acquire();
    server_.query(R"(USE locks;
DELIMITER //
        CREATE TRIGGER slowly AFTER UPDATE ON holdfast_contenders FOR EACH ROW
        IF NEW.told_at > OLD.told_at THEN DO SLEEP(0.01); END IF//)");
    std::vector<std::future<Hold>> waiting;
    for (int i = 0; i < readers; ++i) {
        waiting.push_back(std::async(std::launch::async, [&] {
            return client.shared_mutex("orders", {.lease = 30s}).acquire_shared();
        }));
    }
    ASSERT_TRUE(await([&] { return waiters_of(holder, "orders") == readers; }));
    const auto released = Clock::now();
    EXPECT_EQ(writer.release(), Released::in_time);
    for (auto& one : waiting) one.get();
    EXPECT_LT(Clock::now() - released, 6s) << "after ten they look by themselves";
}

/// An idle connection is ended by the server; the one that sleeps is never
/// idle.
TEST(MysqlIdle, AWaiterOutlivesTheTimeThatIdleConnectionsHave) {
    const MariadbServer server({.settings = {"wait-timeout=1", "interactive-timeout=1"}});
    const Client holder = connect(server.url());
    const Client client = connect(server.url());
    auto hold = holder.mutex("orders", {.lease = 60s}).acquire();
    Acquiring waiting(client, "orders", {.lease = 60s});
    ASSERT_TRUE(await([&] { return waiters_of(holder, "orders") == 1; }));
    const auto ended = [&] {
        return std::stoi(
            server.query("SELECT variable_value FROM information_schema.global_status"
                         " WHERE variable_name = 'Aborted_clients'"));
    };
    ASSERT_TRUE(await([&] { return ended() >= 2; })) << "the holder's and the waiter's";
    const auto released = Clock::now();
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_GT(waiting.get().fence(), hold.fence());
    EXPECT_LT(Clock::now() - released, 10s) << "a third of its lease is 20 s";
}

/// With it, what follows a commit would be in a transaction that nobody ends.
TEST(MysqlSettings, ACommitIsTheEndOfATransactionWhateverTheServerIsSetTo) {
    const MariadbServer server({.settings = {"completion-type=CHAIN"}});
    const Client client = connect(server.url());
    client.mutex("orders").acquire().release();
    const auto hold = client.mutex("orders", {.lease = 30s}).acquire();
    EXPECT_EQ(server.query("SELECT seat_fence FROM locks.holdfast_lines WHERE seat_nonce <> ''"),
              std::to_string(hold.fence()))
        << "nobody else sees it";
}

TEST(MysqlSettings, ASessionWritesWhateverTheServerIsSetTo) {
    const MariadbServer server;
    server.query("SET GLOBAL tx_read_only = ON");
    EXPECT_EQ(connect(server.url()).mutex("orders").acquire().release(), Released::in_time);
}

/// Procedures keep the mode of the session in which they were made.
TEST(MysqlSettings, ASchemaMadeByHandUnderAnotherModeIsTheSame) {
    const MariadbServer server;
    server.query(
        "SET sql_mode = "
        "'EMPTY_STRING_IS_NULL,ANSI_QUOTES,SIMULTANEOUS_ASSIGNMENT,"
        "PAD_CHAR_TO_FULL_LENGTH'; USE locks;\nDELIMITER //\n" +
        schema(server.url()) + "//");
    const Client client = connect(server.url());
    const Client other = connect(server.url());
    auto hold = client.mutex("orders", {.lease = 30s}).acquire();
    const auto attempt = other.mutex("orders").try_acquire();
    EXPECT_FALSE(attempt);
    Acquiring waiting(other, "orders", {.lease = 30s});
    ASSERT_TRUE(await([&] { return waiters_of(client, "orders") == 1; }));
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_GT(waiting.get().fence(), hold.fence());
}

/// What Group Replication says when another member wrote the same row.
TEST_F(MysqlReach, ATransactionThatAnotherMemberOvertookIsRepeated) {
    const Client client = connect(server_.url());
    client.mutex("orders").acquire().release();
    server_.query(
        "USE locks; CREATE TABLE refused (count INT) ENGINE = Aria "
        "TRANSACTIONAL = 0;"
        "INSERT INTO refused VALUES (0)");
    server_.query(R"(USE locks;
DELIMITER //
        CREATE TRIGGER refuse BEFORE UPDATE ON holdfast_lines FOR EACH ROW
        IF (SELECT count FROM refused) < 3 THEN
            UPDATE refused SET count = count + 1;
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 3101;
        END IF//)");
    auto hold = client.mutex("orders").acquire();
    EXPECT_EQ(server_.query("SELECT count FROM locks.refused"), "3");
    EXPECT_EQ(hold.release(), Released::in_time);
}

}  // namespace
}  // namespace holdfast::test
