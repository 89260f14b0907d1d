#include "faults/sql_leases.hpp"
#include "servers/postgres_server.hpp"

namespace holdfast::test {
namespace {

struct PostgresLeaseSite {
    PostgresServer server;
};

}  // namespace
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, SqlLeases, PostgresLeaseSite);
}  // namespace holdfast::test
