#include "faults/sql_upkeep.hpp"
#include "servers/postgres_server.hpp"

namespace holdfast::test {
namespace {

/// How a line of that many names is found, of names 1, 2, 3 and so on behind the usual prefix.
std::string lines_of(int count) {
    return " FROM (SELECT 'holdfast/' || i AS its_name, i FROM generate_series(1, " +
           std::to_string(count) + ") i) named ";
}
constexpr auto its_id = "sha256(convert_to(its_name, 'UTF8'))";

struct PostgresUpkeepSite {
    PostgresServer server;

    static PostgresServer start_under(std::vector<std::string> command) {
        return PostgresServer({.under = std::move(command)});
    }
    std::string count(const std::string& table) const {
        return server.query("SELECT count(*) FROM " + table);
    }
    void age(const std::string& name) const {
        server.query(
            "UPDATE holdfast_lines SET last_fence = last_fence - 2 * 86400000000"
            " WHERE name = 'holdfast/" +
            name + "'");
    }
    std::string sessions() const {
        return server.query(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'holdfast'");
    }
    void plant_lines(int count, const std::string& last_fence) const {
        server.query("INSERT INTO holdfast_lines (id, name, capacity, last_fence) SELECT " +
                     std::string(its_id) + ", its_name, 1000000000, " + last_fence +
                     lines_of(count));
    }
    void plant_idle_lines(int count) const { plant_lines(count, "1"); }
    void plant_dead_contenders(int count) const {
        plant_lines(count, now());
        server.query("INSERT INTO holdfast_contenders (line, nonce, phase, lease_end) SELECT " +
                     std::string(its_id) + ", md5(its_name), 'left', 1" + lines_of(count));
    }
    void plant_waiters(int lines, int each) const {
        plant_lines(lines, now());
        server.query(
            "INSERT INTO holdfast_contenders (line, nonce, phase, ticket, weight, lease_end, owner)"
            " SELECT " +
            std::string(its_id) + ", md5(its_name || ' ' || j), 'waiting', j, 1000000000, " +
            now() + " + 3600000000, j::text" + lines_of(lines) + ", generate_series(1, " +
            std::to_string(each) + ") j");
    }
    void slow_down_deleting() const {
        server.query(R"(
            CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN PERFORM pg_sleep(0.02); RETURN OLD; END $$;
            CREATE TRIGGER dawdle BEFORE DELETE ON holdfast_contenders
                FOR EACH ROW EXECUTE FUNCTION dawdle())");
    }
    static std::string now() { return "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"; }
};

}  // namespace
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, SqlUpkeep, PostgresUpkeepSite);
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, SqlForgetting, PostgresUpkeepSite);
}  // namespace holdfast::test
