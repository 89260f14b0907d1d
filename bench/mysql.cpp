// The MySQL store against raw libmariadb, on MariaDB.
#include <mysql.h>

#include "servers/mariadb_server.hpp"
#include "sql.hpp"

namespace {

using bench::SqlSite;
using holdfast::test::MariadbServer;

class RawMysql final : public bench::RawDatabase {
public:
    explicit RawMysql(const SqlSite& site) : connection_(mysql_init(nullptr), mysql_close) {
        const unsigned protocol = MYSQL_PROTOCOL_TCP;
        mysql_options(connection_.get(), MYSQL_OPT_PROTOCOL, &protocol);
        if (mysql_real_connect(connection_.get(), "127.0.0.1", "root", "", "locks",
                               static_cast<unsigned>(site.port), nullptr, 0) == nullptr) {
            throw failure();
        }
    }

    bool insert(const std::string& name) override {
        constexpr unsigned duplicate = 1062;
        const std::string statement = "INSERT INTO by_hand VALUES ('" + name + "')";
        if (mysql_query(connection_.get(), statement.c_str()) == 0) return true;
        if (mysql_errno(connection_.get()) == duplicate) return false;
        throw failure();
    }
    void remove(const std::string& name) override {
        const std::string statement = "DELETE FROM by_hand WHERE name = '" + name + "'";
        if (mysql_query(connection_.get(), statement.c_str()) != 0) throw failure();
    }

private:
    std::runtime_error failure() const {
        return std::runtime_error(mysql_error(connection_.get()));
    }

    std::unique_ptr<MYSQL, decltype(&mysql_close)> connection_;
};

}  // namespace

int main(int count, char** words) {
    try {
        const MariadbServer server({.durable = true});
        server.query("CREATE TABLE locks.by_hand (name VARCHAR(64) PRIMARY KEY) ENGINE = InnoDB");
        return bench::measure_sql(
            count, words,
            {.url = server.url(),
             .port = server.port(),
             .url_through =
                 [](int port) {
                     return "mysql://root@127.0.0.1:" + std::to_string(port) + "/locks";
                 },
             .connect = [](const SqlSite& site) -> std::unique_ptr<bench::RawDatabase> {
                 return std::make_unique<RawMysql>(site);
             }});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
        return 2;
    }
}
