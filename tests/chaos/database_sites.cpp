#include "chaos/fault_table.hpp"
#include "chaos/one_server.hpp"
#include "chaos/set_clock.hpp"
#include "servers/mariadb_server.hpp"
#include "servers/postgres_server.hpp"
#include "support/proxy_protocol.hpp"

/// Databases, each alone behind a bad network.
namespace holdfast::chaos {

namespace {

constexpr const char* clock_goes_forward = "the server's clock is set forward";

/// What makes the tables takes longer than a request should.
constexpr const char* briefly = "?request_timeout=2s";

#ifdef HOLDFAST_STORE_POSTGRES
class Postgres final : SetClock, public OneServer<test::PostgresServer> {
public:
    Postgres() : OneServer(heeded_by(test::PostgresOptions{}), test::postgres_protocol) {}
    std::string url() const override { return url_behind() + briefly; }
    std::vector<Fault> faults() override {
        auto all = OneServer::faults();
        add_those_of_the_clock(all, table_.excused(clock_goes_forward));
        all.push_back({.name = "sessions are ended",
                       .begin =
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
                       .alone = true});
        return all;
    }
    Excused excuse_of_hands() const override { return table_.excused(ended_by_hand); }

private:
    const FaultTable table_{"postgres"};
};
#endif

#ifdef HOLDFAST_STORE_MYSQL
class Mariadb final : SetClock, public OneServer<test::MariadbServer> {
public:
    Mariadb() : OneServer(heeded_by(test::MariadbOptions{}), test::mysql_protocol) {}
    std::string url() const override { return url_behind() + briefly; }
    std::vector<Fault> faults() override {
        auto all = OneServer::faults();
        add_those_of_the_clock(all, table_.excused(clock_goes_forward));
        return all;
    }
    Excused excuse_of_hands() const override { return table_.excused(ended_by_hand); }

private:
    const FaultTable table_{"mysql"};
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
