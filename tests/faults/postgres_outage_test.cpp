#include "faults/sql_faults.hpp"
#include "servers/postgres_server.hpp"

namespace holdfast::test {
namespace {

struct PostgresSite {
    PostgresServer server;

    static std::string everything_from(const std::string& table) { return "DELETE FROM " + table; }
    /// Functions of that version stay, and with them what they need of the tables.
    void become_older() const {
        server.query(R"(
            DO $$ DECLARE one record; BEGIN
                FOR one IN SELECT oid::regprocedure AS itself, proname FROM pg_proc
                    WHERE proname LIKE 'holdfast\_%'
                LOOP
                    EXECUTE 'ALTER FUNCTION ' || one.itself || ' RENAME TO '
                        || overlay(one.proname PLACING 'holdfast_older' FROM 1 FOR 17);
                END LOOP;
            END $$;
            ALTER TABLE holdfast_contenders DROP COLUMN serial)");
    }
    void run(const std::string& statement) const { server.query(statement); }
    void drop_column() const {
        server.query("ALTER TABLE holdfast_contenders DROP COLUMN lease_end");
    }
};

}  // namespace
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, SqlFaults, PostgresSite);
}  // namespace holdfast::test
