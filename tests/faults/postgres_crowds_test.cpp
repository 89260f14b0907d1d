#include "faults/sql_crowds.hpp"
#include "servers/postgres_server.hpp"

namespace holdfast::test {
namespace {

struct PostgresCrowdSite {
    PostgresServer server;

    std::string contenders(const std::string& condition) const {
        return server.query("SELECT count(*) FROM holdfast_contenders WHERE " + condition);
    }
    void end_leases(const std::string& condition) const {
        server.query("UPDATE holdfast_contenders SET lease_end = 1 WHERE " + condition);
    }
    void plant_dead_waiters(int count) const {
        server.query(
            "INSERT INTO holdfast_contenders (line, nonce, phase, ticket, weight, lease_end)"
            " SELECT id, md5(i::text), 'waiting', i, 1000000000, 1"
            " FROM holdfast_lines, generate_series(1, " +
            std::to_string(count) + ") i");
    }
};

}  // namespace
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, SqlCrowds, PostgresCrowdSite);
}  // namespace holdfast::test
