#include "core/lease.hpp"
#include "support/suite.hpp"

namespace holdfast::core {
namespace {

constexpr Moment sent{1h};

TEST(ALease, IsTrustedFromTheSendLessAMargin) {
    EXPECT_EQ(valid_until(sent, 20s), sent + 19s);
}

TEST(ALease, IsRenewedAtAThirdAndItsEndIsToldBeforeItIsNear) {
    for (const std::chrono::nanoseconds lease : {100ms, 1000ms, 30'000ms}) {
        EXPECT_EQ(renewal_due(sent, lease), sent + lease / 3);
        EXPECT_LT(renewal_due(sent, lease), told_at(sent, lease));
        EXPECT_LT(told_at(sent, lease), valid_until(sent, lease));
        EXPECT_LT(valid_until(sent, lease), sent + lease);
    }
}

TEST(ALease, LeavesTimeForFourMoreTriesOfARenewal) {
    const auto last_try = renewal_due(sent, 12s) + 4 * renewal_retry(12s);
    EXPECT_LT(last_try, told_at(sent, 12s));
}

TEST(ALease, KeepsTheWindowOfABatchWellBelowARetry) {
    EXPECT_LE(2 * renewal_window(12s), renewal_retry(12s));
}

}  // namespace
}  // namespace holdfast::core
