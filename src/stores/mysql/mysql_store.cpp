#include "stores/mysql/mysql_store.hpp"

#include <string>
#include <utility>

#include "stores/mysql/failures.hpp"
#include "stores/mysql/mysql_scripts.hpp"
#include "stores/mysql/mysql_session.hpp"
#include "stores/sql/sql_store.hpp"
#include "stores/sql/words.hpp"

namespace holdfast::inline v0::mysql {

namespace {

class MysqlDialect final : public sql::Dialect {
public:
    MysqlDialect(sql::Address address, sql::Layout layout)
        : address_(std::move(address)), layout_(layout) {}

    std::unique_ptr<sql::Session> open(Purpose purpose,
                                       std::function<void()> resolved) const override {
        return std::make_unique<MysqlSession>(address_, client_, purpose, std::move(resolved));
    }
    std::string_view schema() const override {
        return layout_ == sql::Layout::shedlock ? scripts::schema_shedlock : scripts::schema;
    }
    Meaning meaning_of(const sql::ServerError& error) const override {
        return mysql::meaning_of(error, address_);
    }
    const std::string& client() const override { return client_; }

private:
    const sql::Address address_;
    const sql::Layout layout_;
    const std::string client_ = sql::hex_of(sql::random_nonce());
};

}  // namespace

std::shared_ptr<Store> open_mysql(const StoreUrl& url) {
    const auto address =
        sql::address_of(url, {.kind = "mysql", .port = 3306, .password_variable = "MYSQL_PWD"});
    const auto layout = sql::layout_of(url);
    return sql::open_sql(address, layout, std::make_shared<MysqlDialect>(address, layout));
}

}  // namespace holdfast::inline v0::mysql
