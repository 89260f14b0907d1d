#include "stores/redis/waiters.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::redis {
namespace {

using State = Standing::State;

Nonce nonce(int number) {
    Nonce made;
    made.bytes[0] = static_cast<std::byte>(number);
    return made;
}

Waiter waiter(int number, std::string key) {
    return {.key = std::move(key), .ticket = {"r", nonce(number), "1"}};
}

TEST(Waiters, AreFoundInTheOrderInWhichTheyCame) {
    Waiters waiters;
    waiters.add(waiter(9, "a"));
    waiters.add(waiter(1, "a"));
    waiters.add(waiter(5, "b"));
    EXPECT_EQ(waiters.first("a"), nonce(9));
    EXPECT_EQ(waiters.first("a"), nonce(9)) << "until it is gone";
    EXPECT_TRUE(waiters.remove(nonce(9)));
    EXPECT_EQ(waiters.first("a"), nonce(1));
    EXPECT_TRUE(waiters.remove(nonce(1)));
    EXPECT_EQ(waiters.first("a"), std::nullopt);
    EXPECT_EQ(waiters.first("b"), nonce(5));
    EXPECT_EQ(waiters.first("c"), std::nullopt);
}

TEST(Waiters, KeepTheirPlaceWhenTheyAreAddedAgain) {
    Waiters waiters;
    waiters.add(waiter(1, "a"));
    waiters.add(waiter(2, "a"));
    Waiter again = waiter(1, "a");
    again.period = 7;
    waiters.add(again);
    EXPECT_EQ(waiters.first("a"), nonce(1));
    EXPECT_EQ(waiters.find(nonce(1))->period, 7U);
    EXPECT_EQ(waiters.all().size(), 2U);
}

TEST(Waiters, AreForgottenWhenTheyLeave) {
    Waiters waiters;
    waiters.add(waiter(1, "a"));
    EXPECT_EQ(waiters.remove(nonce(1))->key, "a");
    EXPECT_FALSE(waiters.remove(nonce(1)));
    EXPECT_FALSE(waiters.find(nonce(1)));
    EXPECT_TRUE(waiters.all().empty());
    waiters.keep(nonce(1), {.state = State::offered});
    EXPECT_FALSE(waiters.take(nonce(1)));
    waiters.goes_on(nonce(1), Moment::max());
}

TEST(Waiters, AreToldOnceWhatWasPushedBeforeTheyWereWatched) {
    Waiters waiters;
    waiters.add(waiter(1, "a"));
    EXPECT_FALSE(waiters.take(nonce(1)));
    waiters.keep(nonce(1), {.state = State::waiting});
    waiters.keep(nonce(1), {.state = State::offered});
    EXPECT_EQ(waiters.take(nonce(1))->state, State::offered);
    EXPECT_FALSE(waiters.take(nonce(1)));
}

TEST(Waiters, AreNotKeptFromTheirTurnByAPushThatOvertookIt) {
    Waiters waiters;
    waiters.add(waiter(1, "a"));
    waiters.keep(nonce(1), {.state = State::offered});
    waiters.keep(nonce(1), {.state = State::waiting, .look_again = std::chrono::hours{1}});
    EXPECT_EQ(waiters.take(nonce(1))->state, State::offered);
}

TEST(Waiters, LiveAsLongAsTheyAreHeardOf) {
    Waiters waiters;
    waiters.add(waiter(1, "a"));
    const Moment later = Moment{} + std::chrono::hours{1};
    waiters.goes_on(nonce(1), later);
    EXPECT_EQ(waiters.find(nonce(1))->lease_end, later);
}

}  // namespace
}  // namespace holdfast::redis
