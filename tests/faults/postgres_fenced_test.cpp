#include "faults/sql_fenced.hpp"
#include "servers/postgres_server.hpp"

namespace holdfast::test {
namespace {

struct PostgresFencedSite {
    static constexpr SqlDialect dialect = SqlDialect::postgres;
    PostgresServer server;

    std::string ask(const std::string& statements) const { return server.query(statements); }
    std::string changed(const std::string& statement) const {
        return server.query("WITH done AS (" + statement +
                            " RETURNING 1) SELECT count(*) FROM done");
    }
};

}  // namespace
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, SqlFenced, PostgresFencedSite);
}  // namespace holdfast::test
