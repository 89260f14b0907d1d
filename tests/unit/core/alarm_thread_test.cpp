#include "core/alarm_thread.hpp"
#include "support/suite.hpp"

namespace holdfast::core {
namespace {

/// Keeps the alarm's thread busy while the test sets its timers.
class Busy {
public:
    explicit Busy(AlarmThread& alarm) {
        alarm.post([done = done_] { done->wait(false); });
    }
    ~Busy() {
        *done_ = true;
        done_->notify_all();
    }

private:
    std::shared_ptr<std::atomic<bool>> done_ = std::make_shared<std::atomic<bool>>(false);
};

TEST(AnAlarmThread, CallsAtTheMomentAndNotBefore) {
    AlarmThread alarm;
    const Moment moment = BootClock::now() + 10ms;
    std::atomic<Moment> called{Moment{}};
    alarm.at(moment, [&] { called = BootClock::now(); });
    ASSERT_TRUE(await([&] { return called.load() != Moment{}; }));
    EXPECT_GE(called.load(), moment);
}

TEST(AnAlarmThread, CallsInOrderOfTheMomentsWhateverTheOrderOfSetting) {
    AlarmThread alarm;
    const Moment now = BootClock::now();
    std::mutex mutex;
    std::vector<int> order;
    std::atomic<int> calls{0};
    {
        const Busy busy(alarm);
        for (const int i : {3, 1, 2}) {
            alarm.at(now + i * 1ms, [&, i] {
                const std::lock_guard guard(mutex);
                order.push_back(i);
                ++calls;
            });
        }
    }
    ASSERT_TRUE(await([&] { return calls == 3; }));
    EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(AnAlarmThread, RunsWhatIsPostedInOrderAndBeforeWhatIsLater) {
    AlarmThread alarm;
    std::vector<int> order;
    std::atomic<int> calls{0};
    for (int i = 0; i < 100; ++i) {
        alarm.post([&, i] {
            order.push_back(i);
            ++calls;
        });
    }
    ASSERT_TRUE(await([&] { return calls == 100; }));
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(AnAlarmThread, DoesNotCallWhatWasCancelled) {
    AlarmThread alarm;
    std::atomic<bool> cancelled_ran{false};
    std::atomic<bool> later_ran{false};
    {
        const Busy busy(alarm);
        const auto timer = alarm.at(BootClock::now(), [&] { cancelled_ran = true; });
        alarm.cancel(timer);
        alarm.cancel(timer);
        alarm.cancel(0);
        alarm.at(BootClock::now(), [&] { later_ran = true; });
    }
    ASSERT_TRUE(await([&] { return later_ran.load(); }));
    EXPECT_FALSE(cancelled_ran);
}

TEST(AnAlarmThread, MaySetAndCancelInsideACallback) {
    AlarmThread alarm;
    std::atomic<int> calls{0};
    alarm.post([&] {
        const auto never = alarm.at(BootClock::now(), [&] { calls = 100; });
        alarm.at(BootClock::now(), [&] { ++calls; });
        alarm.cancel(never);
    });
    EXPECT_TRUE(await([&] { return calls == 1; }));
}

TEST(AnAlarmThread, MayBeDestroyedByItsOwnCallback) {
    auto alarm = std::make_shared<AlarmThread>();
    std::atomic<bool> destroyed{false};
    AlarmThread& there = *alarm;
    there.post([&destroyed, owned = std::move(alarm)]() mutable {
        owned.reset();
        destroyed = true;
    });
    EXPECT_TRUE(await([&] { return destroyed.load(); }));
}

TEST(AnAlarmThread, NeverCallsWhatIsLeftWhenItEnds) {
    std::atomic<bool> called{false};
    {
        AlarmThread alarm;
        alarm.at(BootClock::now() + 1h, [&] { called = true; });
    }
    EXPECT_FALSE(called);
}

TEST(AnAlarmThread, NeverOverlapsItsCallbacksUnderManyThreads) {
    AlarmThread alarm;
    std::atomic<int> inside{0};
    std::atomic<int> calls{0};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                for (int round = 0; round < 200; ++round) {
                    alarm.at(BootClock::now() + std::chrono::microseconds{round % 50}, [&] {
                        EXPECT_EQ(++inside, 1);
                        --inside;
                        ++calls;
                    });
                }
            });
        }
    }
    EXPECT_TRUE(await([&] { return calls == 800; }));
}

}  // namespace
}  // namespace holdfast::core
