#include "faults/sql_faults.hpp"
#include "servers/mariadb_server.hpp"

namespace holdfast::test {
namespace {

struct MariadbSite {
    MariadbServer server;

    static std::string sessions() {
        return "SELECT id FROM information_schema.processlist WHERE db = 'locks'";
    }
    void kill_session(const std::string& number) const {
        try {
            server.query("KILL " + number);
        } catch (const std::runtime_error&) {
            // It ended by itself meanwhile.
        }
    }
    static std::string everything_from(const std::string& table) {
        return "DELETE FROM locks." + table;
    }
    void drop_column() const {
        server.query("ALTER TABLE locks.holdfast_lines DROP COLUMN seat_lease_end");
    }
};

}  // namespace
INSTANTIATE_TYPED_TEST_SUITE_P(Mariadb, SqlFaults, MariadbSite);
}  // namespace holdfast::test
