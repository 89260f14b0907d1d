#include "stores/postgres/postgres_store.hpp"

#include <string>
#include <utility>

#include "stores/postgres/checkup.hpp"
#include "stores/postgres/failures.hpp"
#include "stores/postgres/postgres_scripts.hpp"
#include "stores/postgres/postgres_session.hpp"
#include "stores/postgres/schema_name.hpp"
#include "stores/scripted/words.hpp"
#include "stores/sql/sql_store.hpp"

namespace holdfast::inline v0::postgres {

namespace {

class PostgresDialect final : public sql::Dialect {
public:
    PostgresDialect(Address address, sql::Tables tables)
        : address_(std::move(address)), tables_(tables) {}

    std::unique_ptr<sql::Session> open(Purpose purpose,
                                       std::function<void()> resolved) const override {
        const std::string channel = purpose == Purpose::pushes ? "holdfast_" + client_ : "";
        return std::make_unique<PostgresSession>(address_, channel, std::move(resolved));
    }
    std::string_view schema() const override {
        return tables_ == sql::Tables::shedlock ? scripts::schema_shedlock : scripts::schema;
    }
    Meaning meaning_of(const sql::ServerError& error) const override {
        return postgres::meaning_of(error, address_);
    }
    std::string_view examination() const override { return postgres::examination; }
    std::vector<Finding> findings_in(const sql::Settings& settings) const override {
        return postgres::findings_in(settings);
    }
    const std::string& client() const override { return client_; }

private:
    const Address address_;
    const sql::Tables tables_;
    const std::string client_ = scripted::random_client();
};

}  // namespace

std::shared_ptr<Store> open_postgres(const StoreUrl& url) {
    const Address address{
        {sql::address_of(url,
                         {.kind = "postgres", .port = 5432, .password_variable = "PGPASSWORD"})},
        schema_of(url)};
    const auto tables = sql::tables_of(url);
    return sql::open_sql(address, tables, std::make_shared<PostgresDialect>(address, tables));
}

}  // namespace holdfast::inline v0::postgres
