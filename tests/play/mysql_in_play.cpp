#include "play/sql_in_play.hpp"
#include "servers/mariadb_server.hpp"

namespace holdfast::test {

namespace {

class InMysql {
public:
    static std::string among_ours(const std::string& statement) {
        return "USE locks;\n" + statement;
    }
    static std::string script(const std::string& statements) {
        return "USE locks;\nDELIMITER //\n" + statements + "//\nDELIMITER ;\n";
    }
    static std::string id_of(const std::string& name) { return "UNHEX(SHA2('" + name + "', 256))"; }
    static std::string books(const std::string& line) {
        const std::string held = " FROM holdfast_contenders WHERE line = " + line +
                                 " AND phase IN ('admitted', 'offered')";
        return "SELECT 'more is held than there is: ', held FROM holdfast_lines, (SELECT "
               "SUM(weight) AS held" +
               held + ") sums WHERE id = " + line +
               " AND held > IF(seat_nonce = '', capacity, 0) UNION ALL SELECT 'joined nobody: ', "
               "nonce" +
               held + " AND weight = 0 AND fence NOT IN (SELECT fence" + held +
               " AND weight > 0) UNION ALL SELECT 'not the last fence: ', last_fence FROM "
               "holdfast_lines WHERE id = " +
               line + " AND last_fence < (SELECT MAX(fence)" + held +
               ") UNION ALL SELECT 'a larger crowd than ', crowd FROM holdfast_lines WHERE id = " +
               line +
               " AND crowd < (SELECT COUNT(*) FROM holdfast_contenders WHERE line = " + line + ")";
    }
    static std::vector<Change> changes(Fault fault) {
        switch (fault) {
            case Fault::silent_offer:
                return {{"UPDATE holdfast_contenders SET phase = 'lapsed'",
                         "SET @silent = TRUE;\nUPDATE holdfast_contenders SET phase = 'lapsed'"},
                        {"told_at = IF(nonce = asker, told_at,",
                         "told_at = IF(nonce = asker OR @silent, told_at,"}};
            case Fault::repeated_fence:
                return {{"its_fence = GREATEST(line_fence + 1, now_is)",
                         "its_fence = GREATEST(line_fence, now_is)"}};
            case Fault::kept_lease:
                return {{"SET its_lease_end = GREATEST(now_is + its_lease * 1000,",
                         "SET its_lease_end = GREATEST(its_lease_end,"}};
            default:
                return {{"SET weight = its_weight", "SET weight = 0"}};
        }
    }
};

}  // namespace

std::unique_ptr<PlaySite> ours_on_mysql() {
    return std::make_unique<SqlInPlay<MariadbServer, InMysql>>("holdfast");
}
std::unique_ptr<PlaySite> shedlock_on_mysql() {
    return std::make_unique<SqlInPlay<MariadbServer, InMysql>>("shedlock");
}

}  // namespace holdfast::test
