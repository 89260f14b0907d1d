#include <initializer_list>

#include "faults/databases.hpp"

/// What the docs say of writing under a fence, on real servers.
namespace holdfast::test {
namespace {

class SqlFenced : public OnDatabase {
protected:
    SqlFenced() {
        query("CREATE TABLE accounts (id INT PRIMARY KEY, balance INT NOT NULL)");
        query(fence_.add_column());
        query("INSERT INTO accounts (id, balance) VALUES (42, 100)");
    }

    /// The statement with its parameters, which are numbers, in their places.
    std::string filled(std::string statement, std::initializer_list<int> parameters) const {
        int number = 0;
        for (const int parameter : parameters) {
            const bool numbered = database_->dialect() == SqlDialect::postgres;
            const std::string place = numbered ? "$" + std::to_string(++number) : "?";
            for (auto at = statement.find(place); at != std::string::npos;) {
                statement.replace(at, place.size(), std::to_string(parameter));
                at = numbered ? statement.find(place) : std::string::npos;
            }
        }
        return statement;
    }
    void raise(int fence) {
        const bool numbered = database_->dialect() == SqlDialect::postgres;
        query(numbered ? filled(fence_.raise(), {fence, 42})
                       : filled(fence_.raise(), {fence, fence, 42}));
    }
    std::string read(int fence) { return query(filled(fence_.read("balance"), {fence, 42})); }
    bool write(int balance, int fence) {
        const std::string assignment = "balance = " + std::to_string(balance);
        return database_->changed(filled(fence_.write(assignment), {fence, 42})) == "1";
    }
    std::string balance() { return query("SELECT balance FROM accounts WHERE id = 42"); }

    const SqlFence fence_{database_->dialect(), "accounts"};
};
HOLDFAST_ON_DATABASES(SqlFenced);

/// Both have read before either writes: one was stopped past its lease.
TEST_P(SqlFenced, WhoWasStoppedBetweenReadAndWriteIsRefusedOnceTheNextHasRead) {
    raise(7);
    EXPECT_EQ(read(7), "100");
    raise(8);
    EXPECT_EQ(read(8), "100");
    EXPECT_FALSE(write(150, 7)) << "told that it was done, and lost with the next write";
    EXPECT_TRUE(write(120, 8));
    EXPECT_EQ(balance(), "120");
}

TEST_P(SqlFenced, WithTheFenceInTheLastWriteAloneAnUpdateIsLost) {
    const auto late_recipe = [&](int balance, int fence) {
        const std::string number = std::to_string(fence);
        return database_->changed("UPDATE accounts SET balance = " + std::to_string(balance) +
                                  ", fence = " + number + " WHERE id = 42 AND fence <= " + number);
    };
    ASSERT_EQ(balance(), "100") << "as both have read it";
    EXPECT_EQ(late_recipe(150, 7), "1") << "the stopped one is told that it was done";
    EXPECT_EQ(late_recipe(120, 8), "1");
    EXPECT_EQ(balance(), "120") << "and nothing is left of it: why raise() comes first";
}

TEST_P(SqlFenced, ALateOneReadsNothing) {
    raise(8);
    raise(7);
    EXPECT_EQ(read(7), "");
    EXPECT_FALSE(write(150, 7));
    EXPECT_EQ(balance(), "100");
}

TEST_P(SqlFenced, OneHoldMayComeAgain) {
    for (const int balance : {150, 160}) {
        raise(7);
        EXPECT_NE(read(7), "");
        EXPECT_TRUE(write(balance, 7));
    }
    EXPECT_EQ(balance(), "160");
}

TEST_P(SqlFenced, AFenceIsNeverNull) {
    EXPECT_ANY_THROW(query("UPDATE accounts SET fence = NULL WHERE id = 42"));
    raise(1);
    EXPECT_EQ(read(1), "100") << "also of a row that was there before the column";
}

}  // namespace
}  // namespace holdfast::test
