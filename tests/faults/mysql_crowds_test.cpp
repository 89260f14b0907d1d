#include "faults/sql_crowds.hpp"
#include "servers/mariadb_server.hpp"

namespace holdfast::test {
namespace {

struct MariadbCrowdSite {
    MariadbServer server;

    std::string contenders(const std::string& condition) const {
        return server.query("SELECT COUNT(*) FROM locks.holdfast_contenders WHERE " + condition);
    }
    void end_leases(const std::string& condition) const {
        server.query("UPDATE locks.holdfast_contenders SET lease_end = 1 WHERE " + condition);
    }
    void plant_dead_waiters(int count) const {
        server.query(
            "USE locks; UPDATE holdfast_lines SET crowd = crowd + " + std::to_string(count) +
            "; INSERT INTO holdfast_contenders (line, nonce, phase, ticket, weight, lease_end,"
            " owner, host) SELECT id, MD5(seq), 'waiting', seq, 1000000000, 1, '', ''"
            " FROM holdfast_lines, seq_1_to_" +
            std::to_string(count));
    }
};

}  // namespace
INSTANTIATE_TYPED_TEST_SUITE_P(Mariadb, SqlCrowds, MariadbCrowdSite);
}  // namespace holdfast::test
