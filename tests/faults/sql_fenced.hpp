#pragma once

#include <gtest/gtest.h>

#include <holdfast/sql_fence.hpp>
#include <initializer_list>
#include <string>

/// What the docs say of writing under a fence, on real servers. `Site` has the server, and how a
/// few things are said to it:
///     static constexpr SqlDialect dialect
///     std::string ask(statements)        what they answer
///     std::string changed(statement)     how many rows it has changed
namespace holdfast::test {

template <class Site>
class SqlFenced : public testing::Test {
protected:
    SqlFenced() {
        site_.ask("CREATE TABLE accounts (id INT PRIMARY KEY, balance INT NOT NULL)");
        site_.ask(fence_.add_column());
        site_.ask("INSERT INTO accounts (id, balance) VALUES (42, 100)");
    }

    /// The statement with its parameters, which are numbers, in their places.
    static std::string filled(std::string statement, std::initializer_list<int> parameters) {
        int number = 0;
        for (const int parameter : parameters) {
            const bool numbered = Site::dialect == SqlDialect::postgres;
            const std::string place = numbered ? "$" + std::to_string(++number) : "?";
            for (auto at = statement.find(place); at != std::string::npos;) {
                statement.replace(at, place.size(), std::to_string(parameter));
                at = numbered ? statement.find(place) : std::string::npos;
            }
        }
        return statement;
    }
    void raise(int fence) {
        const bool numbered = Site::dialect == SqlDialect::postgres;
        site_.ask(numbered ? filled(fence_.raise(), {fence, 42})
                           : filled(fence_.raise(), {fence, fence, 42}));
    }
    std::string read(int fence) { return site_.ask(filled(fence_.read("balance"), {fence, 42})); }
    bool write(int balance, int fence) {
        const std::string assignment = "balance = " + std::to_string(balance);
        return site_.changed(filled(fence_.write(assignment), {fence, 42})) == "1";
    }
    std::string balance() { return site_.ask("SELECT balance FROM accounts WHERE id = 42"); }

    Site site_;
    const SqlFence fence_{Site::dialect, "accounts"};
};
TYPED_TEST_SUITE_P(SqlFenced);

/// Both have read before either writes: one was stopped past its lease.
TYPED_TEST_P(SqlFenced, WhoWasStoppedBetweenReadAndWriteIsRefusedOnceTheNextHasRead) {
    this->raise(7);
    EXPECT_EQ(this->read(7), "100");
    this->raise(8);
    EXPECT_EQ(this->read(8), "100");
    EXPECT_FALSE(this->write(150, 7)) << "told that it was done, and lost with the next write";
    EXPECT_TRUE(this->write(120, 8));
    EXPECT_EQ(this->balance(), "120");
}

TYPED_TEST_P(SqlFenced, WithTheFenceInTheLastWriteAloneAnUpdateIsLost) {
    const auto late_recipe = [&](int balance, int fence) {
        const std::string number = std::to_string(fence);
        return this->site_.changed("UPDATE accounts SET balance = " + std::to_string(balance) +
                                   ", fence = " + number + " WHERE id = 42 AND fence <= " + number);
    };
    ASSERT_EQ(this->balance(), "100") << "as both have read it";
    EXPECT_EQ(late_recipe(150, 7), "1") << "the stopped one is told that it was done";
    EXPECT_EQ(late_recipe(120, 8), "1");
    EXPECT_EQ(this->balance(), "120") << "and nothing is left of it: why raise() comes first";
}

TYPED_TEST_P(SqlFenced, ALateOneReadsNothing) {
    this->raise(8);
    this->raise(7);
    EXPECT_EQ(this->read(7), "");
    EXPECT_FALSE(this->write(150, 7));
    EXPECT_EQ(this->balance(), "100");
}

TYPED_TEST_P(SqlFenced, OneHoldMayComeAgain) {
    for (const int balance : {150, 160}) {
        this->raise(7);
        EXPECT_NE(this->read(7), "");
        EXPECT_TRUE(this->write(balance, 7));
    }
    EXPECT_EQ(this->balance(), "160");
}

TYPED_TEST_P(SqlFenced, AFenceIsNeverNull) {
    EXPECT_ANY_THROW(this->site_.ask("UPDATE accounts SET fence = NULL WHERE id = 42"));
    this->raise(1);
    EXPECT_EQ(this->read(1), "100") << "also of a row that was there before the column";
}

REGISTER_TYPED_TEST_SUITE_P(SqlFenced, WhoWasStoppedBetweenReadAndWriteIsRefusedOnceTheNextHasRead,
                            WithTheFenceInTheLastWriteAloneAnUpdateIsLost, ALateOneReadsNothing,
                            OneHoldMayComeAgain, AFenceIsNeverNull);

}  // namespace holdfast::test
