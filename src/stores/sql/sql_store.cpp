#include "stores/sql/sql_store.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "stores/scripted/scripted_store.hpp"
#include "stores/sql/answers.hpp"
#include "stores/sql/calls.hpp"
#include "stores/sql/examining.hpp"
#include "stores/sql/sql_wire.hpp"

namespace holdfast::inline v0::sql {

namespace {

/// The lines whose resource starts with a prefix, one page after the other. Calls and answers must
/// outlive it.
class SqlListing {
public:
    using Reply = sql::Reply;
    using Inquiry = scripted::Inquiry<Call>;

    SqlListing(const Calls& calls, const Answers& answers, std::string prefix, Call first)
        : calls_(&calls),
          answers_(&answers),
          prefix_(std::move(prefix)),
          first_(std::move(first)) {}

    std::vector<Inquiry> start() { return {{std::move(first_)}}; }
    std::vector<Inquiry> take(const std::string& /*about*/, Reply page) {
        const auto next = take_next_page(page);
        std::ranges::move(page.rows, std::back_inserter(found_.rows));
        if (!next) return {};
        return {{calls_->inspect(prefix_, *next)}};
    }
    Result<std::vector<Line>> lines() const { return answers_->lines(found_); }

private:
    const Calls* calls_;
    const Answers* answers_;
    std::string prefix_;
    Call first_;
    Reply found_ = {};
};

class SqlProtocol {
public:
    using Request = Call;
    using Reply = sql::Reply;
    using Answer = sql::Answer;
    using Message = std::string;
    using Wire = SqlWire;
    using Listing = SqlListing;
    static constexpr bool by_several_connections = true;

    SqlProtocol(const Address& address, Tables tables,
                const std::shared_ptr<const Dialect>& dialect)
        : address_(address),
          dialect_(dialect),
          description_(address.shown()),
          calls_(tables, dialect->client()),
          answers_(description_, calls_),
          wire_(address, dialect) {}

    SqlWire& wire() { return wire_; }
    scripted::Waiters& waiters() { return waiters_; }
    const std::string& description() const { return description_; }
    const Calls& requests() const { return calls_; }
    const Answers& answers() const { return answers_; }
    Result<Listing> listing(const std::string& prefix) const {
        return Listing(calls_, answers_, prefix, calls_.inspect(prefix));
    }
    Listing listing_of_one(const std::string& resource) const {
        return {calls_, answers_, resource, calls_.look_at(resource)};
    }

    Result<Examination> examine() const { return sql::examine(address_, *dialect_); }

private:
    const Address address_;
    const std::shared_ptr<const Dialect> dialect_;
    const std::string description_;
    const Calls calls_;
    const Answers answers_;
    scripted::Waiters waiters_;
    SqlWire wire_;
};

}  // namespace

std::shared_ptr<Store> open_sql(const Address& address, Tables tables,
                                const std::shared_ptr<const Dialect>& dialect) {
    const auto store =
        std::make_shared<scripted::ScriptedStore<SqlProtocol>>(address, tables, dialect);
    store->connect();
    return store;
}

}  // namespace holdfast::inline v0::sql
