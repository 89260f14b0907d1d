#include "play/sql_in_play.hpp"
#include "servers/postgres_server.hpp"

namespace holdfast::test {

namespace {

class InPostgres {
public:
    static std::string among_ours(const std::string& statement) { return statement; }
    static std::string script(const std::string& statements) { return statements; }
    static std::string id_of(const std::string& name) {
        return "sha256(convert_to('" + name + "', 'UTF8'))";
    }
    static std::string books(const std::string& line) {
        const std::string held = " FROM holdfast_contenders WHERE line = " + line +
                                 " AND phase IN ('admitted', 'offered')";
        return "SELECT 'more is held than there is: ' || held FROM holdfast_lines, (SELECT "
               "sum(weight) AS held" +
               held + ") sums WHERE id = " + line +
               " AND held > capacity UNION ALL SELECT 'joined nobody: ' || nonce" + held +
               " AND weight = 0 AND fence NOT IN (SELECT fence" + held +
               " AND weight > 0) UNION ALL SELECT 'not the last fence: ' || last_fence FROM "
               "holdfast_lines WHERE id = " +
               line + " AND last_fence < (SELECT max(fence)" + held + ")";
    }
    static std::vector<Change> changes(Fault fault) {
        switch (fault) {
            case Fault::silent_offer:
                return {{"UPDATE holdfast_contenders SET phase = 'lapsed'",
                         "PERFORM set_config('play.silent', 'yes', true);\n"
                         "UPDATE holdfast_contenders SET phase = 'lapsed'"},
                        {"IF pg_notification_queue_usage() < 0.9 THEN",
                         "IF coalesce(current_setting('play.silent', true), '') <> 'yes' THEN"}};
            case Fault::repeated_fence:
                return {{"greatest(last_fence + 1, now)", "greatest(last_fence, now)"}};
            case Fault::kept_lease:
                return {{"SET phase = 'waiting', lease_end = new_end,", "SET phase = 'waiting',"}};
            default:
                return {{"SET weight = holder.weight", "SET weight = 0"}};
        }
    }
};

}  // namespace

std::unique_ptr<PlaySite> ours_on_postgres() {
    return std::make_unique<SqlInPlay<PostgresServer, InPostgres>>("holdfast");
}
std::unique_ptr<PlaySite> shedlock_on_postgres() {
    return std::make_unique<SqlInPlay<PostgresServer, InPostgres>>("shedlock");
}

}  // namespace holdfast::test
