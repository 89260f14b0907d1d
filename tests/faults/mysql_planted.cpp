#include "faults/sql_planted.hpp"
#include "servers/mariadb_server.hpp"

namespace holdfast::test {
namespace {

/// Also what its modes refuse by default, as another client's mode would let it in.
Rows rows_of(const MariadbServer& server) {
    return {.query =
                [&server](const std::string& statements) {
                    server.query("SET sql_mode = ''; " + statements);
                },
            .prefix = "locks.",
            .emptied = ", crowd = 5, seat_nonce = ''",
            .line_id = "UNHEX(SHA2('holdfast/orders', 256))"};
}

class MysqlGround final : public SqlGround {
public:
    MysqlGround() : SqlGround(rows_of(MariadbServer::shared())) {
        server_.empty();
        use(url());
    }
    std::string url() const override { return "mysql://root@" + server_.address() + "/locks"; }
    std::vector<Planted> values() const override {
        auto all = SqlGround::values();
        for (const char* const edge :
             {"0", "-1", "9007199254740992", "9223372036854775807", "-9223372036854775808"}) {
            for (const char* const column :
                 {"seat_ticket", "seat_fence", "seat_lease_end", "seat_claim_end", "seat_since",
                  "seat_serial", "crowd"}) {
                all.push_back(seat(column, edge));
            }
        }
        all.push_back(seat("seat_owner", "'\x1b[2J'"));
        all.push_back(seat("seat_owner", "NULL"));
        return all;
    }

private:
    /// Taken by one that lives, but for what is said otherwise.
    Planted seat(const std::string& column, const std::string& value) const {
        const std::string where = " WHERE id = " + rows_.line_id;
        return statement(
            column + " = " + value,
            "UPDATE locks.holdfast_lines SET capacity = 1000000000, crowd = 0, seat_nonce = '" +
                std::string(32, 'a') +
                "', seat_lease_end = 4000000000000000, seat_fence = 77, seat_owner = 'o', "
                "seat_host = 'h'" +
                where + "; UPDATE locks.holdfast_lines SET " + column + " = " + value + where);
    }

    MariadbServer& server_ = MariadbServer::shared();
};

class MysqlShedlockGround final : public ShedlockGround {
public:
    MysqlShedlockGround()
        : ShedlockGround(rows_of(MariadbServer::shared()),
                         {"'1970-01-02'", "'2038-01-01'", "'0000-00-00'", "'nonsense'"}) {
        server_.empty();
        make_table();
        use(url());
    }
    std::string url() const override {
        return "mysql://root@" + server_.address() + "/locks?layout=shedlock";
    }

private:
    MariadbServer& server_ = MariadbServer::shared();
};

}  // namespace

std::unique_ptr<Ground> make_mysql_ground() {
    return std::make_unique<MysqlGround>();
}
std::unique_ptr<Ground> make_mysql_shedlock_ground() {
    return std::make_unique<MysqlShedlockGround>();
}

}  // namespace holdfast::test
