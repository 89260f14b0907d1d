// The PostgreSQL store against raw libpq.
#include <libpq-fe.h>

#include "servers/postgres_server.hpp"
#include "sql.hpp"

namespace {

using bench::SqlSite;
using holdfast::test::PostgresServer;

class RawPostgres final : public bench::RawDatabase {
public:
    explicit RawPostgres(const SqlSite& site)
        : connection_(PQconnectdb(("host=127.0.0.1 user=postgres dbname=postgres port=" +
                                   std::to_string(site.port))
                                      .c_str()),
                      PQfinish) {
        if (PQstatus(connection_.get()) != CONNECTION_OK) throw failure();
    }

    bool insert(const std::string& name) override {
        return run("INSERT INTO by_hand VALUES ($1) ON CONFLICT DO NOTHING", name) == "1";
    }
    void remove(const std::string& name) override {
        run("DELETE FROM by_hand WHERE name = $1", name);
    }

private:
    std::string run(const char* statement, const std::string& name) {
        const char* const value = name.c_str();
        const std::unique_ptr<PGresult, decltype(&PQclear)> result(
            PQexecParams(connection_.get(), statement, 1, nullptr, &value, nullptr, nullptr, 0),
            PQclear);
        if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) throw failure();
        return PQcmdTuples(result.get());
    }
    std::runtime_error failure() const {
        return std::runtime_error(PQerrorMessage(connection_.get()));
    }

    std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

}  // namespace

int main(int count, char** words) {
    try {
        const PostgresServer server({.durable = true});
        server.query("CREATE TABLE by_hand (name text PRIMARY KEY)");
        return bench::measure_sql(
            count, words,
            {.url = server.url(),
             .port = server.port(),
             .url_through =
                 [](int port) {
                     return "postgres://postgres@127.0.0.1:" + std::to_string(port) + "/postgres";
                 },
             .connect = [](const SqlSite& site) -> std::unique_ptr<bench::RawDatabase> {
                 return std::make_unique<RawPostgres>(site);
             }});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
        return 2;
    }
}
