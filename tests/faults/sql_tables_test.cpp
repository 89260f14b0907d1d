#include <holdfast/holdfast.hpp>
#include <random>

#include "faults/databases.hpp"
#include "port/store.hpp"
#include "stores/open_store.hpp"
#include "support/soak.hpp"

/// What can go wrong with the tables of a store in a database.
namespace holdfast::test {
namespace {

class SqlFaults : public OnDatabase {
protected:
    static Nonce nonce() {
        static std::mt19937_64 random{std::random_device{}()};
        Nonce made;
        for (auto& byte : made.bytes) byte = static_cast<std::byte>(random());
        return made;
    }
    static Contender contender() {
        return {.resource = "orders", .nonce = nonce(), .owner = "somebody", .lease = 30s};
    }
};
HOLDFAST_ON_DATABASES(SqlFaults);

TEST_P(SqlFaults, ATableThatMissesAColumnIsNamed) {
    const Client client = connect(url());
    client.mutex("orders").acquire().release();
    database_->drop_column();
    try {
        client.mutex("orders").acquire().release();
        ADD_FAILURE() << "it was let in";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::corrupt) << error.what();
        EXPECT_NE(std::string(error.what()).find("column"), std::string::npos) << error.what();
    }
}

TEST_P(SqlFaults, TablesOfAnOlderVersionAreRefusedWithWhatToDo) {
    connect(url());
    database_->become_older();
    const Error error = error_of([&] { return connect(url()); });
    EXPECT_EQ(error.code(), errc::corrupt) << error.what();
    expect_says(error, "another version of holdfast");
    const std::string_view sentence = error.what();
    const auto advice = sentence.find("DROP TABLE");
    ASSERT_NE(advice, sentence.npos) << sentence;
    query(std::string(sentence.substr(advice, sentence.find(", and ", advice) - advice)));
    EXPECT_EQ(connect(url()).mutex("orders").acquire().release(), Released::in_time);
}

/// It has no place of its own, and would be kept beside the next holder.
TEST_P(SqlFaults, AHoldThatJoinedAnotherIsToldWhenTheRowOfThatOneIsDeletedByHand) {
    const Client client = connect(url());
    const LockOptions options{.lease = 900ms, .owner = "build", .reenter = true};
    auto hold = client.mutex("orders", options).acquire();
    auto joined = client.mutex("orders", options).acquire();
    ASSERT_EQ(joined.fence(), hold.fence());
    query("DELETE FROM holdfast_contenders WHERE weight > 0");
    EXPECT_TRUE(await([&] { return joined.lost().stop_requested(); }));
    EXPECT_EQ(joined.loss(), Loss::ended);
}

TEST_P(SqlFaults, TwoThatEnterAtTheSameMomentAreOneHolderAndOneBehindIt) {
    const int pairs = rounds(1000, 10'000);
    const auto first = open_store(url() + "?request_timeout=30s").store;
    const auto second = open_store(url() + "?request_timeout=30s").store;
    for (int round = 0; round < pairs; ++round) {
        const Contender one = contender();
        const Contender other = contender();
        auto pending = std::pair(first->enter({&one, 1}), second->enter({&other, 1}));
        const auto entered = std::move(pending.first).get();
        const auto beside = std::move(pending.second).get();
        ASSERT_TRUE(entered.ok() && beside.ok()) << round;
        const auto a = entered.value()[0].standing.state;
        const auto b = beside.value()[0].standing.state;
        const bool one_of_each =
            (a == Standing::State::admitted) != (b == Standing::State::admitted) &&
            (a == Standing::State::waiting) != (b == Standing::State::waiting);
        ASSERT_TRUE(one_of_each) << round;
        // The waiter first, so that nothing is offered.
        const bool first_holds = a == Standing::State::admitted;
        const auto waiter_left =
            second->leave((first_holds ? beside : entered).value()[0].ticket).get();
        ASSERT_TRUE(waiter_left.ok()) << round << ": " << waiter_left.failure().sentence;
        ASSERT_TRUE(first->leave((first_holds ? entered : beside).value()[0].ticket).get().ok());
    }
}

}  // namespace
}  // namespace holdfast::test
