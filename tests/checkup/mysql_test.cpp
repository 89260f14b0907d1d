#include <holdfast/holdfast.hpp>

#include "checkup/examined.hpp"
#include "servers/mariadb_server.hpp"
#include "stores/mysql/checkup.hpp"
#include "support/child.hpp"

namespace holdfast::test {
namespace {

class CheckedMysql : public testing::Test {
protected:
    void set(const std::string& setting) const { server_.query("SET GLOBAL " + setting); }
    Names found(const std::string& parameters = "") const {
        return found_on(server_.url() + parameters);
    }
    std::string url_of(const std::string& user) const {
        return "mysql://" + user + ":secret@" + server_.address() + "/locks";
    }
    /// One who may use what is there, and make more.
    void make_user(const std::string& name) const {
        server_.query("CREATE USER " + name +
                      "@'127.0.0.1' IDENTIFIED BY 'secret'; GRANT ALL ON "
                      "locks.* TO " +
                      name + "@'127.0.0.1'");
    }

    const MariadbServer server_{
        {.settings = {"log-bin=binlog", "innodb-flush-log-at-trx-commit=1"}}};
};

TEST_F(CheckedMysql, IsWellAndNoLockStays) {
    const Checkup checkup = expect_well(server_.url());
    ASSERT_TRUE(checkup.clock_ahead);
    EXPECT_LT(std::chrono::abs(*checkup.clock_ahead), 500ms);
    EXPECT_EQ(server_.query("SELECT count(*) FROM locks.holdfast_contenders"), "0");
    EXPECT_EQ(server_.query("SELECT count(*) FROM locks.holdfast_lines"), "1") << "its last fence";
}

TEST_F(CheckedMysql, FindsWhatTheServerIsSetTo) {
    EXPECT_THAT(found(), IsEmpty());
    set("innodb_flush_log_at_trx_commit = 2");
    EXPECT_THAT(found(), ElementsAre("mysql.forgets"));
    set("innodb_flush_log_at_trx_commit = 1");
    set("innodb_deadlock_detect = OFF");
    EXPECT_THAT(found(), ElementsAre("mysql.deadlocks"));
    set("innodb_deadlock_detect = ON");
    set("wait_timeout = 10");
    EXPECT_THAT(found(), ElementsAre("mysql.wait_timeout"));
    set("wait_timeout = 28800");
    set("read_only = ON");
    EXPECT_THAT(found(), ElementsAre("mysql.read_only"));
    set("read_only = OFF");
    set("time_zone = '+02:00'");
    EXPECT_THAT(found(), IsEmpty()) << "moments of ours have no zone";
    EXPECT_THAT(found("?layout=shedlock"), ElementsAre("mysql.zone"));
    EXPECT_THAT(found("?layout=shedlock&zone=%2B02:00"), IsEmpty());
    set("time_zone = '+00:00'");
    EXPECT_THAT(found("?layout=shedlock"), IsEmpty());
    set("max_connections = 10");
    std::vector<Client> clients;
    for (int i = 0; i < 9; ++i) clients.push_back(connect(server_.url()));
    EXPECT_THAT(found(), ElementsAre("mysql.connections"));
}

TEST_F(CheckedMysql, FindsThatTheMakerOfTheProceduresMayWakeNobody) {
    make_user("maker");
    make_user("app");
    EXPECT_THAT(found_on(url_of("maker")), IsEmpty());
    EXPECT_THAT(found_on(url_of("app")), ElementsAre("mysql.kill"));
    server_.query("GRANT CONNECTION ADMIN ON *.* TO maker@'127.0.0.1'");
    server_.query("GRANT SELECT ON mysql.* TO app@'127.0.0.1'");
    EXPECT_THAT(found_on(url_of("app")), IsEmpty());
}

TEST_F(CheckedMysql, FindsReplicasThatNobodyWaitsFor) {
    const TemporaryFolder folder;
    // It takes all that is written, as a replica does.
    const Child replica({"mariadb-binlog", "--no-defaults", "--read-from-remote-server",
                         "--host=127.0.0.1", "--port=" + std::to_string(server_.port()),
                         "--user=root", "--raw", "--stop-never",
                         "--result-file=" + folder.path().string() + "/", "binlog.000001"});
    ASSERT_TRUE(await([&] {
        return server_.query(
                   "SELECT count(*) FROM information_schema.processlist "
                   "WHERE command LIKE 'Binlog Dump%'") == "1";
    }));
    EXPECT_THAT(found(), ElementsAre("mysql.unconfirmed"));
    set("rpl_semi_sync_master_enabled = ON");
    EXPECT_THAT(found(), ElementsAre("mysql.unconfirmed")) << "that one confirms nothing";
}

TEST(CheckedMysqlReplicas, ThatConfirmAreFine) {
    sql::Settings told;
    told.add("innodb_flush_log_at_trx_commit", "1");
    told.add("replica", "7");
    const auto found = [&] { return mysql::findings_in(told, sql::Tables::holdfast, "").size(); };
    EXPECT_EQ(found(), 1U);
    told.add("Rpl_semi_sync_master_clients", "1");
    EXPECT_EQ(found(), 0U);
}

TEST(CheckedGalera, IsFound) {
    const LoopbackPort cluster;
    const std::string address = "127.0.0.1:" + std::to_string(cluster.number());
    const MariadbServer server(
        {.settings = {"innodb-flush-log-at-trx-commit=1", "wsrep-on=1",
                      "wsrep-provider=" HOLDFAST_TEST_GALERA, "wsrep-cluster-address=gcomm://",
                      "wsrep-node-address=127.0.0.1", "binlog-format=ROW",
                      "innodb-autoinc-lock-mode=2",
                      "wsrep-provider-options=gmcast.listen_addr=tcp://" + address +
                          ";ist.recv_addr=" + address}});
    EXPECT_THAT(found_on(server.url()), ElementsAre("mysql.galera"));
}

}  // namespace
}  // namespace holdfast::test
