#include "faults/server_faults.hpp"
#include "servers/mariadb_server.hpp"
#include "stores/mysql/mysql_scripts.hpp"

namespace holdfast::test {
namespace {

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
}  // namespace holdfast::test
