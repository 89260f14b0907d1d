#include "faults/sql_upkeep.hpp"
#include "servers/mariadb_server.hpp"
#include "stores/mysql/mysql_scripts.hpp"

namespace holdfast::test {
namespace {

/// Of the names 1, 2, 3 and so on behind the usual prefix.
std::string lines_from(int first, int last) {
    return " FROM (SELECT CONCAT('holdfast/', seq) AS its_name FROM seq_" + std::to_string(first) +
           "_to_" + std::to_string(last) + ") named ";
}
std::string lines_of(int count) {
    return lines_from(1, count);
}
constexpr auto its_id = "UNHEX(SHA2(its_name, 256))";
constexpr auto now = "TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))";

struct MariadbUpkeepSite {
    MariadbServer server;

    static MariadbServer start_under(std::vector<std::string> command) {
        return MariadbServer({.under = std::move(command)});
    }
    std::string count(const std::string& table) const {
        return server.query("SELECT COUNT(*) FROM locks." + table);
    }
    void age(const std::string& name) const {
        server.query(
            "UPDATE locks.holdfast_lines SET last_fence = last_fence - 2 * 86400000000"
            " WHERE name = 'holdfast/" +
            name + "'");
    }
    std::string sessions() const {
        return server.query(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'locks'");
    }
    /// In the order of the key, and not all in one go: a small server would swap pages.
    void plant_lines(int count, const std::string& last_fence) const {
        constexpr int at_once = 10'000;
        for (int first = 1; first <= count; first += at_once) {
            const int last = std::min(first + at_once - 1, count);
            server.query(
                "USE locks; INSERT INTO holdfast_lines (id, name, capacity, last_fence,"
                " crowd) SELECT " +
                std::string(its_id) + ", its_name, 1000000000, " + last_fence + ", 1" +
                lines_from(first, last) + "ORDER BY 1");
        }
    }
    void plant_idle_lines(int count) const { plant_lines(count, "1"); }
    void plant_dead_contenders(int count) const {
        plant_lines(count, now);
        server.query(
            "USE locks; INSERT INTO holdfast_contenders (line, nonce, phase, lease_end,"
            " owner, host) SELECT " +
            std::string(its_id) + ", MD5(its_name), 'left', 1, '', ''" + lines_of(count));
    }
    void plant_waiters(int lines, int each) const {
        plant_lines(lines, now);
        server.query(
            "USE locks; INSERT INTO holdfast_contenders (line, nonce, phase, ticket,"
            " weight, lease_end, owner, host) SELECT " +
            std::string(its_id) +
            ", MD5(CONCAT(its_name, ' ', j.seq)), 'waiting', j.seq,"
            " 1000000000, " +
            now + " + 3600000000, j.seq, ''" + lines_of(lines) + ", seq_1_to_" +
            std::to_string(each) + " j");
    }
    void slow_down_deleting() const {
        server.query(
            "USE locks; CREATE TRIGGER dawdle BEFORE DELETE ON holdfast_contenders"
            " FOR EACH ROW DO SLEEP(0.02)");
    }
};

class MysqlTimeZone : public testing::TestWithParam<const char*> {
protected:
    /// By somebody whose session has another time zone than ours.
    std::string call(const std::string& verb, const std::string& words) const {
        return server_.query("USE locks; SET time_zone = '" + std::string(GetParam()) + "'; CALL " +
                             std::string(mysql::scripts::prefix) + verb + "(" + words + ")");
    }

    MariadbServer server_;
    Client client_ = connect(server_.url());
};
INSTANTIATE_TEST_SUITE_P(Zones, MysqlTimeZone, testing::Values("+02:00", "-05:00"));

TEST_P(MysqlTimeZone, OfWhoeverSweepsEndsNoLivingHold) {
    client_.mutex("orders").acquire().release();
    auto seated = client_.mutex("orders", {.lease = 30s}).acquire();
    auto shared = client_.shared_mutex("stock", {.lease = 30s}).acquire_shared();
    call("sweep", "'', 2");
    EXPECT_EQ(client_.inspect().size(), 2U);
    EXPECT_EQ(seated.release(), Released::in_time);
    EXPECT_EQ(shared.release(), Released::in_time);
}

TEST_P(MysqlTimeZone, OfWhoeverEntersByHandLetsItInNoEarlierAndStayNoLonger) {
    auto hold = client_.mutex("orders", {.lease = 30s}).acquire();
    const std::string mine =
        "'holdfast/orders', 'nonce', 'client', 'owner', 'host', 7, 1000000000,"
        " 1000000000, 'f', 'n', 500, 0, 2";
    EXPECT_EQ(call("enter", mine).substr(0, 1), "0");
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_EQ(call("enter", mine).substr(0, 1), "3");
    EXPECT_GT(client_.mutex("orders").acquire().fence(), hold.fence());
}

}  // namespace
INSTANTIATE_TYPED_TEST_SUITE_P(Mariadb, SqlUpkeep, MariadbUpkeepSite);
INSTANTIATE_TYPED_TEST_SUITE_P(Mariadb, SqlForgetting, MariadbUpkeepSite);
}  // namespace holdfast::test
