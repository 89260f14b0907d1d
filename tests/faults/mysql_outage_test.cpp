#include "faults/server_faults.hpp"
#include "servers/mariadb_server.hpp"
#include "stores/mysql/mysql_scripts.hpp"

namespace holdfast::test {
namespace {

/// "CALL holdfast_01234567_enter("
std::string call_of(std::string_view verb) {
    return "CALL " + std::string(mysql::scripts::prefix) + std::string(verb) + "(";
}

/// What a client sends for several that enter together, and may send again on another connection.
std::string enter_together(const std::vector<std::string>& names) {
    std::string text = "USE locks; START TRANSACTION; SET @holdfast_stopped = FALSE;";
    for (const std::string& name : names) {
        text += call_of("enter") + "'" + name +
                "', 'nonce', 'client', 'owner', 'host', 7, 1, 1, 'f', 'w', 30000, 0, 0);";
    }
    return text + "COMMIT; SELECT @@in_transaction";
}

TEST(MariadbSeveral, ThatComeAgainWhileTheyWaitLeaveNoTransactionOpen) {
    const MariadbServer server;
    const Client client = connect(server.url());
    server.query("USE locks; " + call_of("enter") +
                 "'b', 'other', 'client', 'owner', 'host', 7, 1, 1, 'f', 'w', 30000, 0, 1)");
    const std::string text = enter_together({"a", "b", "c"});
    EXPECT_TRUE(server.query(text).ends_with("\n0"));
    EXPECT_TRUE(server.query(text).ends_with("\n0"));
    EXPECT_EQ(server.query("SELECT COUNT(*) FROM locks.holdfast_contenders"), "3")
        << "nobody comes to the line behind the one that it waits in";
}

}  // namespace
}  // namespace holdfast::test
