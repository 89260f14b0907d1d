#include <cmath>

#include <holdfast/holdfast.hpp>

#include "support/suite.hpp"

namespace holdfast {
namespace {

TEST(Hold, ThatWasMovedFromHoldsNothing) {
    auto permits = connect("memory:").semaphore("jobs", 2);
    Hold hold = permits.acquire();
    EXPECT_EQ(permits.release(std::move(hold)), Released::in_time);
    EXPECT_FALSE(hold.held());
    EXPECT_EQ(hold.fence(), 0U);
    EXPECT_TRUE(hold.fences().empty());
    EXPECT_TRUE(hold.name().empty());
    EXPECT_EQ(hold.remaining(), 0ns);
    EXPECT_TRUE(hold.lost().stop_requested()) << "whoever waits for that waits for ever else";
    EXPECT_EQ(hold.loss(), Loss::none);
    EXPECT_EQ(hold.release(), Released::unknown);
}

TEST(Wait, IsCountedFromWhateverDuration) {
    EXPECT_EQ(Wait(2s).count(), 2s);
    EXPECT_EQ(Wait(std::chrono::duration<double>(0.5)).count(), 500ms);
    EXPECT_LT(Wait(-1s).count(), 0s);
    EXPECT_LT(Wait(std::chrono::duration<double>(NAN)).count(), 0s);
    EXPECT_GT(Wait(std::chrono::hours::max()).count(), 24h);
    EXPECT_GT(Wait(std::chrono::nanoseconds::max()).count(), 24h);
}

TEST(Wait, UntilAMomentIsNothingWhenThatIsPast) {
    using Steady = std::chrono::steady_clock;
    using System = std::chrono::system_clock;
    EXPECT_EQ(Wait::until(Steady::time_point::min()).count(), 0s);
    EXPECT_EQ(Wait::until(Steady::now() - 1h).count(), 0s);
    EXPECT_GT(Wait::until(Steady::time_point::max()).count(), 24h);
    EXPECT_GT(Wait::until(System::time_point::max()).count(), 24h);
    using Seconds = std::chrono::time_point<System, std::chrono::seconds>;
    EXPECT_GT(Wait::until(Seconds::max()).count(), 24h);
    const auto hour = Wait::until(Steady::now() + 1h).count();
    EXPECT_LE(hour, 1h);
    EXPECT_GT(hour, 59min);
}

TEST(Wait, WithoutEndEndsWithTheLock) {
    auto client = connect("memory:");
    auto mutex = client.mutex("jobs");
    EXPECT_TRUE(mutex.try_acquire_for(std::chrono::hours::max()).operator*().held());
    ASSERT_TRUE(mutex.try_lock_until(std::chrono::steady_clock::time_point::max()));
    mutex.unlock();
}

}  // namespace
}  // namespace holdfast
