#include "stores/mysql/mysql_store.hpp"

#include <string>
#include <utility>

#include <holdfast/error.hpp>

#include "stores/mysql/checkup.hpp"
#include "stores/mysql/failures.hpp"
#include "stores/mysql/mysql_scripts.hpp"
#include "stores/mysql/mysql_session.hpp"
#include "stores/scripted/words.hpp"
#include "stores/sql/sql_store.hpp"

namespace holdfast::inline v0::mysql {

namespace {

class MysqlDialect final : public sql::Dialect {
public:
    MysqlDialect(sql::Address address, sql::Tables tables, std::string zone)
        : address_(std::move(address)), tables_(tables), zone_(std::move(zone)) {}

    std::unique_ptr<sql::Session> open(Purpose purpose,
                                       std::function<void()> resolved) const override {
        const MysqlSession::Role role{
            .client = client_, .purpose = purpose, .shedlock_zone = zone_};
        return std::make_unique<MysqlSession>(address_, role, std::move(resolved));
    }
    std::string_view schema() const override {
        return tables_ == sql::Tables::shedlock ? scripts::schema_shedlock : scripts::schema;
    }
    Meaning meaning_of(const sql::ServerError& error) const override {
        return mysql::meaning_of(error, address_);
    }
    std::string_view examination() const override { return mysql::examination; }
    std::vector<Finding> findings_in(const sql::Settings& settings) const override {
        return mysql::findings_in(settings, tables_, zone_);
    }
    const std::string& client() const override { return client_; }

private:
    const sql::Address address_;
    const sql::Tables tables_;
    const std::string zone_;
    const std::string client_ = scripted::random_client();
};

/// The time zone of ShedLock's sessions; empty: the server's.
std::string zone_of(const StoreUrl& url, sql::Tables tables) {
    std::string zone = url.text("zone").value_or("");
    constexpr auto unusual = "'\\\" \t\n;";
    if (tables != sql::Tables::shedlock && !zone.empty()) {
        throw Error(errc::bad_configuration,
                    url.shown + ": the parameter zone is for layout=shedlock; leave it out");
    }
    if (zone.find_first_of(unusual) != std::string::npos || zone.find('\0') != std::string::npos) {
        throw Error(errc::bad_configuration,
                    url.shown + ": the parameter zone names no time zone; give one as +02:00");
    }
    return zone;
}

}  // namespace

std::shared_ptr<Store> open_mysql(const StoreUrl& url) {
    const auto address =
        sql::address_of(url, {.kind = "mysql", .port = 3306, .password_variable = "MYSQL_PWD"});
    const auto tables = sql::tables_of(url);
    return sql::open_sql(address, tables,
                         std::make_shared<MysqlDialect>(address, tables, zone_of(url, tables)));
}

}  // namespace holdfast::inline v0::mysql
