#include "faults/sql_shedlock.hpp"
#include "servers/postgres_server.hpp"

namespace holdfast::test {
namespace {

struct PostgresShedlockSite {
    PostgresServer server;
    std::string table = "shedlock";
    std::string now = "timezone('utc', clock_timestamp())";
    std::string after(int seconds) const {
        return now + " + interval '" + std::to_string(seconds) + " s'";
    }
};

}  // namespace
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, SqlShedlock, PostgresShedlockSite);
}  // namespace holdfast::test
