#include "faults/sql_planted.hpp"
#include "servers/postgres_server.hpp"

namespace holdfast::test {
namespace {

Rows rows_of(const PostgresServer& server) {
    return {.query = [&server](const std::string& statements) { server.query(statements); },
            .prefix = {},
            .emptied = {},
            .line_id = "sha256('holdfast/orders')"};
}

class PostgresGround final : public SqlGround {
public:
    PostgresGround() : SqlGround(rows_of(PostgresServer::shared())) {
        server_.empty();
        use(url());
    }
    std::string url() const override {
        return "postgres://postgres@" + server_.address() + "/postgres";
    }

private:
    PostgresServer& server_ = PostgresServer::shared();
};

class PostgresShedlockGround final : public ShedlockGround {
public:
    PostgresShedlockGround()
        : ShedlockGround(rows_of(PostgresServer::shared()),
                         {"'1970-01-02'", "'2038-01-01'", "'infinity'", "'-infinity'",
                          "'294276-12-31'", "'4713-01-01 BC'"}) {
        server_.empty();
        make_table();
        use(url());
    }
    std::string url() const override {
        return "postgres://postgres@" + server_.address() + "/postgres?layout=shedlock";
    }

private:
    PostgresServer& server_ = PostgresServer::shared();
};

}  // namespace

std::unique_ptr<Ground> make_postgres_ground() {
    return std::make_unique<PostgresGround>();
}
std::unique_ptr<Ground> make_postgres_shedlock_ground() {
    return std::make_unique<PostgresShedlockGround>();
}

}  // namespace holdfast::test
