#include "chaos/one_server.hpp"
#include "servers/mariadb_server.hpp"
#include "servers/postgres_server.hpp"
#include "support/proxy_protocol.hpp"

/// Databases, each alone behind a bad network.
namespace holdfast::chaos {

namespace {

/// What makes the tables takes longer than a request should.
constexpr const char* briefly = "?request_timeout=2s";

#ifdef HOLDFAST_STORE_POSTGRES
class Postgres final : public OneServer<test::PostgresServer> {
public:
    Postgres() : OneServer(test::PostgresOptions{}, test::postgres_protocol) {}
    std::string url() const override { return url_behind() + briefly; }
    std::vector<Fault> faults() override {
        auto all = OneServer::faults();
        all.push_back({"sessions are ended",
                       [this](Random&) {
                           try {
                               server().query(
                                   "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                   " WHERE application_name = 'holdfast'");
                           } catch (const std::exception&) {
                               // It is down, or stands still.
                           }
                           return nothing;
                       },
                       "", true});
        return all;
    }
};
#endif

#ifdef HOLDFAST_STORE_MYSQL
class Mariadb final : public OneServer<test::MariadbServer> {
public:
    Mariadb() : OneServer(test::MariadbOptions{}, test::mysql_protocol) {}
    std::string url() const override { return url_behind() + briefly; }
};
#endif

}  // namespace

std::vector<SiteEntry> database_sites() {
    return {
#ifdef HOLDFAST_STORE_POSTGRES
        {"postgres", [] { return std::make_unique<Postgres>(); }},
#endif
#ifdef HOLDFAST_STORE_MYSQL
        {"mysql", [] { return std::make_unique<Mariadb>(); }},
#endif
    };
}

}  // namespace holdfast::chaos
