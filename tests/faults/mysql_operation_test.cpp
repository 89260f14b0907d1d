#include "faults/server_faults.hpp"
#include "servers/mariadb_server.hpp"
#include "support/contender.hpp"

namespace holdfast::test {
namespace {

std::string url_of(const MariadbServer& server, const std::string& user,
                   const std::string& password) {
    return "mysql://" + user + ":" + password + "@" + server.address() + "/locks";
}

void add_user(const MariadbServer& server, const std::string& name, const std::string& password) {
    server.query("CREATE USER " + name + "@'127.0.0.1' IDENTIFIED BY '" + password +
                 "'; GRANT ALL ON locks.* TO " + name + "@'127.0.0.1'");
}

// --- who is woken ---

class MysqlUsers : public testing::Test {
protected:
    void SetUp() override {
        add_user(server_, "one", "1");
        add_user(server_, "other", "2");
    }
    /// How long a waiter of `other` takes to get what `one` gives back. Leases of 30 s: it would
    /// look by itself after ten.
    Clock::duration hand_over() const {
        const Client holder = connect(url_of(server_, "one", "1"));
        const Client waiter = connect(url_of(server_, "other", "2"));
        auto hold = holder.mutex("orders", {.lease = 30s}).acquire();
        Acquiring waiting(waiter, "orders", {.lease = lease_});
        EXPECT_TRUE(await([&] { return waiters_of(holder, "orders") == 1; }));
        EXPECT_TRUE(await([&] { return sleepers() == "1"; }));
        const auto released = Clock::now();
        EXPECT_EQ(hold.release(), Released::in_time);
        EXPECT_GT(waiting.get().fence(), hold.fence());
        return Clock::now() - released;
    }
    std::string sleepers() const {
        return server_.query(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'User lock'");
    }

    std::chrono::milliseconds lease_ = 30s;
    MariadbServer server_;
};

TEST_F(MysqlUsers, AnothersWaiterIsWokenByTheRightsOfWhoMadeTheProcedures) {
    connect(server_.url());  // by root, who may end other users' queries
    EXPECT_LT(hand_over(), 5s);
}

TEST_F(MysqlUsers, AnothersWaiterLooksByItselfWhereNobodyMayWakeIt) {
    connect(url_of(server_, "one", "1"));
    lease_ = 1500ms;
    const auto took = hand_over();
    EXPECT_LT(took, 5s);
}

TEST_F(MysqlUsers, TheRightsOfTheDocumentationAreEnough) {
    connect(server_.url());
    server_.query(
        "CREATE USER bare@'127.0.0.1' IDENTIFIED BY '3';"
        "GRANT SELECT, INSERT, UPDATE, DELETE ON locks.holdfast_lines TO bare@'127.0.0.1';"
        "GRANT SELECT, INSERT, UPDATE, DELETE ON locks.holdfast_contenders TO bare@'127.0.0.1';"
        "GRANT EXECUTE ON locks.* TO bare@'127.0.0.1'");
    const Client client = connect(url_of(server_, "bare", "3"));
    EXPECT_EQ(client.mutex("orders").acquire().release(), Released::in_time);
}

// --- Galera ---

TEST(MysqlGalera, NoLockOfANodeIsUsedAndWhoWaitsLooksByItself) {
    const LoopbackPort cluster;
    const std::string address = "127.0.0.1:" + std::to_string(cluster.number());
    const MariadbServer server(
        {.settings = {"wsrep-on=1", "wsrep-provider=" HOLDFAST_TEST_GALERA,
                      "wsrep-cluster-address=gcomm://", "wsrep-node-address=127.0.0.1",
                      "binlog-format=ROW", "innodb-autoinc-lock-mode=2",
                      "wsrep-provider-options=gmcast.listen_addr=tcp://" + address +
                          ";ist.recv_addr=" + address}});
    const Client holder = connect(server.url());
    const Client waiter = connect(server.url());
    auto hold = holder.mutex("orders", {.lease = 30s}).acquire();
    Acquiring waiting(waiter, "orders", {.lease = 1500ms});
    ASSERT_TRUE(await([&] { return waiters_of(holder, "orders") == 1; }));
    EXPECT_EQ(server.query("SELECT COUNT(*) FROM information_schema.processlist "
                           "WHERE state LIKE 'User lock'"),
              "0");
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_GT(waiting.get().fence(), hold.fence());
}

}  // namespace
}  // namespace holdfast::test
