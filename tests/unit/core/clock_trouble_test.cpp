#include "core/pursuit.hpp"
#include "stores/memory/memory_store.hpp"
#include "support/client_of_store.hpp"
#include "support/passing_store.hpp"
#include "support/suite.hpp"

namespace holdfast::core {
namespace {

/// Jumps when it is told to.
class JumpingClock final : public Clock {
public:
    Moment now() const noexcept override { return BootClock::now() + late_.load(); }
    std::uint64_t wall_microseconds() const noexcept override {
        return SystemClock().wall_microseconds() + wall_offset_.load();
    }
    void sleep(std::chrono::nanoseconds time) { late_ = late_.load() + time; }
    void set_wall(std::chrono::microseconds offset) {
        wall_offset_ = static_cast<std::uint64_t>(offset.count());
    }

private:
    std::atomic<std::chrono::nanoseconds> late_{0ns};
    std::atomic<std::uint64_t> wall_offset_{0};
};

/// Answers an enter only after `delay`, which is over at once.
class SlowStore final : public test::PassingStore {
public:
    explicit SlowStore(JumpingClock& clock)
        : PassingStore(memory::open_memory(clock)), clock_(clock) {}

    std::chrono::nanoseconds delay{0};

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override {
        auto answer = inner().enter(contenders);
        clock_.sleep(delay);
        return answer;
    }

private:
    JumpingClock& clock_;
};

class ClockTrouble : public testing::Test {
protected:
    std::shared_ptr<HoldState> acquire_now(std::chrono::milliseconds lease) {
        return acquire(context_, {.contenders = {{.resource = "a",
                                                  .nonce = context_->next_nonce(),
                                                  .owner = "somebody",
                                                  .lease = lease}}})
            .hold;
    }

    std::shared_ptr<JumpingClock> clock_ = std::make_shared<JumpingClock>();
    std::shared_ptr<SlowStore> store_ = std::make_shared<SlowStore>(*clock_);
    std::shared_ptr<Context> context_ = test::client_of({.store = store_, .clock = clock_});
};

TEST_F(ClockTrouble, AHoldWhoseAnswerCameAfterItsLeaseIsBornLost) {
    store_->delay = 400ms;
    const auto late = acquire_now(200ms);
    EXPECT_FALSE(late->held());
    EXPECT_EQ(late->remaining(), 0ns);
    EXPECT_EQ(late->loss(), Loss::overdue);
    EXPECT_TRUE(await([&] { return late->lost().stop_requested(); }));
    store_->delay = 0ns;
    const auto rival = acquire_now(10s);
    EXPECT_TRUE(rival->held());
    EXPECT_GT(rival->fences().front(), late->fences().front());
    EXPECT_EQ(late->release(), Released::too_late);
    EXPECT_TRUE(rival->held());
    EXPECT_EQ(rival->release(), Released::in_time);
}

TEST_F(ClockTrouble, AfterASleepOfTheMachineAHoldIsLostAtOnce) {
    const auto hold = acquire_now(10s);
    EXPECT_TRUE(hold->held());
    clock_->sleep(1h);
    EXPECT_FALSE(hold->held());
    EXPECT_EQ(hold->loss(), Loss::overdue);
    EXPECT_EQ(hold->release(), Released::too_late);
}

TEST_F(ClockTrouble, AWallClockThatIsSetChangesNoDeadlineAndFencesStillRise) {
    const auto first = acquire_now(10s);
    for (const auto offset : {-24h, 24h, -1h}) {
        const auto before = first->remaining();
        clock_->set_wall(offset);
        EXPECT_TRUE(first->held());
        EXPECT_LE(before - first->remaining(), 5s);
    }
    std::uint64_t highest = first->fences().front();
    first->release();
    for (const auto offset : {-24h, 24h, -1h, 0h}) {
        clock_->set_wall(offset);
        const auto next = acquire_now(10s);
        EXPECT_GT(next->fences().front(), highest);
        highest = next->fences().front();
        next->release();
    }
}

}  // namespace
}  // namespace holdfast::core
