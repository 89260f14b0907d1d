#include "stores/redlock/candidates.hpp"

#include <gtest/gtest.h>

namespace holdfast::redlock {
namespace {

using namespace std::chrono_literals;

Nonce nonce_of(int number) {
    return {{std::byte(number)}};
}

TEST(ThoseOfOneClient, AreForgottenOnceNobodyAsksForThemThoughTooFewSaidThatTheyHaveLeft) {
    Candidates candidates(1min);
    const Moment began = BootClock::now();
    for (int i = 1; i <= 3; ++i) candidates.add(nullptr, nonce_of(i), 30s);
    candidates.is_left_over(nonce_of(1), began);
    candidates.is_left_over(nonce_of(2), began + 30s);
    EXPECT_TRUE(candidates.forget_left_over(began + 3min - 1s).empty());
    EXPECT_TRUE(candidates.find(nonce_of(1)));
    EXPECT_EQ(candidates.forget_left_over(began + 3min + 1s), std::vector{nonce_of(1)});
    EXPECT_EQ(candidates.forget_left_over(began + 1h), std::vector{nonce_of(2)});
    EXPECT_TRUE(candidates.find(nonce_of(3))) << "it has not left";
}

TEST(ThoseOfOneClient, AreKeptNoLongerForBeingAskedForAgain) {
    Candidates candidates(1min);
    const Moment began = BootClock::now();
    candidates.add(nullptr, nonce_of(1), 30s);
    for (int i = 0; i < 10; ++i) candidates.is_left_over(nonce_of(1), began + i * 1s);
    EXPECT_EQ(candidates.forget_left_over(began + 3min + 1s), std::vector{nonce_of(1)});
    EXPECT_TRUE(candidates.forget_left_over(began + 1h).empty());
}

}  // namespace
}  // namespace holdfast::redlock
