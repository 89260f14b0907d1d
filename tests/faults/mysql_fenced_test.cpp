#include "faults/sql_fenced.hpp"
#include "servers/mariadb_server.hpp"

namespace holdfast::test {
namespace {

struct MariadbFencedSite {
    static constexpr SqlDialect dialect = SqlDialect::mysql;
    MariadbServer server;

    std::string ask(const std::string& statements) const {
        return server.query("USE locks; " + statements);
    }
    std::string changed(const std::string& statement) const {
        return ask(statement + "; SELECT ROW_COUNT()");
    }
};

}  // namespace
INSTANTIATE_TYPED_TEST_SUITE_P(Mariadb, SqlFenced, MariadbFencedSite);
}  // namespace holdfast::test
