#include "faults/sql_shedlock.hpp"
#include "servers/mariadb_server.hpp"

namespace holdfast::test {
namespace {

struct MariadbShedlockSite {
    MariadbServer server{{.settings = {"default-time-zone=+00:00"}}};
    std::string table = "locks.shedlock";
    std::string now = "UTC_TIMESTAMP(3)";
    std::string after(int seconds) const {
        return "TIMESTAMPADD(SECOND, " + std::to_string(seconds) + ", UTC_TIMESTAMP(3))";
    }
};

}  // namespace
INSTANTIATE_TYPED_TEST_SUITE_P(Mariadb, SqlShedlock, MariadbShedlockSite);
}  // namespace holdfast::test
