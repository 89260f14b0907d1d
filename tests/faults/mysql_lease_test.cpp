#include "faults/sql_leases.hpp"
#include "servers/mariadb_server.hpp"

namespace holdfast::test {
namespace {

struct MariadbLeaseSite {
    MariadbServer server;
};

}  // namespace
INSTANTIATE_TYPED_TEST_SUITE_P(Mariadb, SqlLeases, MariadbLeaseSite);
}  // namespace holdfast::test
