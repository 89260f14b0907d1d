#include "port/pending.hpp"
#include "support/suite.hpp"

namespace holdfast {
namespace {

/// A wire whose turns run what a test has put there, on the leader's thread.
class ScriptedWire final : public Wire {
public:
    ~ScriptedWire() override { close(); }
    void next_turn(Callback<void()> callback) {
        const std::lock_guard guard(mutex_);
        due_.push_back(std::move(callback));
    }

private:
    void turn(std::optional<Moment> until, Due& due) override {
        {
            const std::lock_guard guard(mutex_);
            due = std::exchange(due_, {});
        }
        if (due.empty()) Wire::turn(until, due);
    }
    std::mutex mutex_;
    Due due_;
};

class PendingResult : public testing::Test {
protected:
    Pending<int> on_its_way(std::optional<Moment> until = std::nullopt) {
        flight_->on_orphan(
            [this](const Result<int>& result) { orphan_ = result.ok() ? result.value() : -1; });
        return Pending<int>(flight_, until);
    }

    ScriptedWire wire_;
    std::shared_ptr<Flight<int>> flight_ = std::make_shared<Flight<int>>(wire_);
    std::optional<int> orphan_;
};

TEST_F(PendingResult, ThatIsHereIsGivenAtOnce) {
    EXPECT_EQ(Pending<int>(7).get().value(), 7);
    const auto failed = Pending<int>(Failure{errc::conflict, Effect::none, "no"}).get();
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.failure().code, errc::conflict);
}

TEST_F(PendingResult, ThatIsHereCallsBackInline) {
    std::optional<int> got;
    Pending<int>(7).then([&](const Result<int>& result) { got = result.value(); });
    EXPECT_EQ(got, 7);
}

TEST_F(PendingResult, IsAwaitedOnTheCallersOwnThread) {
    std::thread::id led_by;
    wire_.next_turn([&, flight = flight_] {
        led_by = std::this_thread::get_id();
        flight->complete(8);
    });
    EXPECT_EQ(on_its_way().get().value(), 8);
    EXPECT_EQ(led_by, std::this_thread::get_id());
}

TEST_F(PendingResult, CompletedByAnotherThreadWakesItsCaller) {
    auto pending = on_its_way();
    std::jthread completer([flight = flight_] { flight->complete(9); });
    EXPECT_EQ(std::move(pending).get().value(), 9);
    EXPECT_FALSE(orphan_);
}

TEST_F(PendingResult, CompletedBeforeItIsAskedForIsKept) {
    auto pending = on_its_way();
    flight_->complete(9);
    EXPECT_EQ(std::move(pending).get().value(), 9);
}

TEST_F(PendingResult, CompletedBeforeThenCallsBackInline) {
    auto pending = on_its_way();
    flight_->complete(9);
    std::optional<int> got;
    std::move(pending).then([&](const Result<int>& result) { got = result.value(); });
    EXPECT_EQ(got, 9);
}

TEST_F(PendingResult, ThenIsCalledFromThePumpWhenNobodyIsBlocked) {
    std::atomic<int> got{0};
    std::thread::id called_on;
    on_its_way().then([&](const Result<int>& result) {
        called_on = std::this_thread::get_id();
        got = result.value();
        got.notify_all();
    });
    wire_.next_turn([flight = flight_] { flight->complete(10); });
    // A second expectation interrupts the turn that the pump is in, so that it takes the script.
    Wire::Waiter waiter;
    wire_.wait(waiter, BootClock::now() + 1ms);
    got.wait(0);
    EXPECT_EQ(got, 10);
}

TEST_F(PendingResult, CallsBackOnceAndNeverTheOrphanHandler) {
    int calls = 0;
    on_its_way().then([&](const Result<int>&) { ++calls; });
    flight_->complete(1);
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(orphan_);
}

TEST_F(PendingResult, MustNotBeWaitedForInsideACallback) {
    bool refused_ready = false;
    bool refused_flying = false;
    Pending<int>(1).then([&](const Result<int>&) {
        try {
            static_cast<void>(Pending<int>(2).get());
        } catch (const std::logic_error&) {
            refused_ready = true;
        }
        try {
            static_cast<void>(on_its_way().get());
        } catch (const std::logic_error&) {
            refused_flying = true;
        }
    });
    EXPECT_TRUE(refused_ready);
    EXPECT_TRUE(refused_flying);
    flight_->complete(4);
    EXPECT_EQ(orphan_, 4) << "what was refused counts as dropped";
    EXPECT_EQ(Pending<int>(3).get().value(), 3) << "outside it may be again";
}

TEST_F(PendingResult, DroppedUnaskedGoesToTheOrphanHandlerWhenItComes) {
    { const auto dropped = on_its_way(); }
    EXPECT_FALSE(orphan_);
    flight_->complete(11);
    EXPECT_EQ(orphan_, 11);
}

TEST_F(PendingResult, DroppedAfterItCameGoesToTheOrphanHandlerAtOnce) {
    {
        const auto dropped = on_its_way();
        flight_->complete(12);
        EXPECT_FALSE(orphan_);
    }
    EXPECT_EQ(orphan_, 12);
}

TEST_F(PendingResult, ThatTakesTooLongFailsWithUnknownEffectAndItsLateAnswerIsAnOrphan) {
    const auto result = on_its_way(BootClock::now() + 2ms).get();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.failure().effect, Effect::unknown);
    flight_->complete(13);
    EXPECT_EQ(orphan_, 13);
}

TEST_F(PendingResult, MovedAwayFromIsNotDropped) {
    auto pending = on_its_way();
    {
        auto moved = std::move(pending);
        flight_->complete(14);
        EXPECT_EQ(std::move(moved).get().value(), 14);
    }
    EXPECT_FALSE(orphan_);
}

TEST_F(PendingResult, CompletionAndTimeOutMayRace) {
    for (int i = 0; i < 300; ++i) {
        auto flight = std::make_shared<Flight<int>>(wire_);
        std::atomic<int> orphans{0};
        flight->on_orphan([&](const Result<int>&) { ++orphans; });
        Pending<int> pending(flight, BootClock::now() + std::chrono::microseconds{i});
        std::jthread completer([flight] { flight->complete(1); });
        const bool answered = std::move(pending).get().ok();
        completer.join();
        EXPECT_EQ(orphans, answered ? 0 : 1) << "every answer goes to exactly one";
    }
}

}  // namespace
}  // namespace holdfast
