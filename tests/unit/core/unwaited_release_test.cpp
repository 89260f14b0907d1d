#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <barrier>

#include <holdfast/holdfast.hpp>

#include "core/alarm_thread.hpp"
#include "core/pursuit.hpp"
#include "stores/memory/memory_store.hpp"
#include "support/client_of_store.hpp"
#include "support/passing_store.hpp"
#include "support/suite.hpp"
#include "support/temporary_folder.hpp"

/// Holds that are given back without waiting for the store.
namespace holdfast::core {
namespace {

/// Remembers by which threads it was asked to let a contender go, and how often; answers that as it
/// is told to.
class LeavingStore final : public test::PassingStore {
public:
    enum class Answer { at_once, never, failure, failure_once };

    LeavingStore() : PassingStore(memory::open_memory(std::string{})) {}

    Pending<Standing> leave(const Ticket& ticket) override {
        left_on = std::this_thread::get_id();
        const int before = leaves++;
        switch (answer.load()) {
            case Answer::at_once:
                break;
            case Answer::never:
                return never<Standing>();
            case Answer::failure_once:
                if (before > 0) break;
                [[fallthrough]];
            case Answer::failure:
                return Failure{errc::unreachable, Effect::unknown, "failed on purpose"};
        }
        return inner().leave(ticket);
    }
    bool may_block() const noexcept override { return blocks; }

    std::atomic<Answer> answer{Answer::at_once};
    std::atomic<bool> blocks{false};
    std::atomic<int> leaves{0};
    std::atomic<std::thread::id> left_on{};
};

using Answer = LeavingStore::Answer;

class AnUnwaitedRelease : public testing::Test {
protected:
    Request request(const std::string& resource, std::chrono::milliseconds lease = 10s) {
        return {.contenders = {{.resource = resource,
                                .nonce = context_->next_nonce(),
                                .owner = "somebody",
                                .lease = lease}}};
    }
    Hold acquired(const std::string& resource) {
        return HoldState::hold(acquire(context_, request(resource)).hold);
    }
    Hold acquired_asynchronously(const std::string& resource) {
        std::promise<std::shared_ptr<HoldState>> made;
        acquire_async(context_, request(resource),
                      [&](Outcome outcome) { made.set_value(std::move(outcome.hold)); });
        return HoldState::hold(made.get_future().get());
    }
    bool nobody_is_left() { return store_->inner().inspect({}).get().value().empty(); }

    std::shared_ptr<LeavingStore> store_ = std::make_shared<LeavingStore>();
    std::shared_ptr<Context> context_ = test::client_of({.store = store_, .goodbye = 0ms});
};

TEST_F(AnUnwaitedRelease, SaysHowItWentOnAnotherThread) {
    Hold hold = acquired("a");
    std::promise<Released> how;
    std::atomic<std::thread::id> told_on;
    hold.async_release([&](Released released) {
        told_on = std::this_thread::get_id();
        how.set_value(released);
    });
    EXPECT_EQ(how.get_future().get(), Released::in_time);
    EXPECT_NE(told_on.load(), std::this_thread::get_id());
    EXPECT_FALSE(hold.held());
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_EQ(store_->leaves, 1);
}

TEST_F(AnUnwaitedRelease, SaysThatTheLeaseHadEnded) {
    Hold hold = acquired("a");
    const auto lines = store_->inner().inspect("a").get();
    ASSERT_TRUE(store_->inner().leave(lines.value().front().holders.front().ticket).get().ok());
    std::promise<Released> how;
    hold.async_release([&](Released released) { how.set_value(released); });
    EXPECT_EQ(how.get_future().get(), Released::too_late);
}

TEST_F(AnUnwaitedRelease, ThatFailsIsToldAndDoneInTheBackground) {
    store_->answer = Answer::failure_once;
    Hold hold = acquired("a");
    std::promise<Released> how;
    hold.async_release([&](Released released) { how.set_value(released); });
    EXPECT_EQ(how.get_future().get(), Released::unknown);
    EXPECT_TRUE(await([&] { return nobody_is_left(); }));
}

TEST_F(AnUnwaitedRelease, IsSentByWhoeverReleasesUnlessThatCouldBlock) {
    Hold hold = acquired("a");
    hold.async_release();
    EXPECT_EQ(store_->left_on.load(), std::this_thread::get_id());
    store_->blocks = true;
    Hold other = acquired("b");
    other.async_release();
    ASSERT_TRUE(await([&] { return store_->leaves == 2; }));
    EXPECT_NE(store_->left_on.load(), std::this_thread::get_id());
}

TEST_F(AnUnwaitedRelease, TellsEachOfManyWhoAskAndSendsOneLeave) {
    Hold hold = acquired("a");
    std::atomic<int> told{0};
    std::atomic<int> in_time{0};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i) {
            threads.emplace_back([&] {
                hold.async_release([&](Released how) {
                    if (how == Released::in_time) ++in_time;
                    ++told;
                });
            });
        }
    }
    EXPECT_TRUE(await([&] { return told == 8; }));
    EXPECT_EQ(in_time, 8);
    EXPECT_EQ(store_->leaves, 1);
}

TEST_F(AnUnwaitedRelease, TellsWhoeverAsksSecondThoughTheHoldIsGoneByThen) {
    store_->blocks = true;
    std::promise<void> go_on;
    context_->renewing().post([&] { go_on.get_future().wait(); });
    Hold hold = acquired("a");
    hold.async_release();
    std::promise<Released> how;
    auto told = how.get_future();
    std::exchange(hold, {}).async_release([&](Released released) { how.set_value(released); });
    go_on.set_value();
    ASSERT_EQ(told.wait_for(10s), std::future_status::ready);
    EXPECT_EQ(told.get(), Released::in_time);
}

TEST_F(AnUnwaitedRelease, LetsWhoeverReleasesMeanwhileGoOn) {
    store_->answer = Answer::never;
    Hold hold = acquired("a");
    hold.async_release();
    EXPECT_EQ(hold.release(), Released::unknown);
    EXPECT_EQ(store_->leaves, 1);
}

TEST_F(AnUnwaitedRelease, IsWhatTheEndOfAnAsynchronousHoldIs) {
    store_->answer = Answer::never;
    const Moment began = BootClock::now();
    { const Hold hold = acquired_asynchronously("a"); }
    EXPECT_LT(BootClock::now() - began, 3s) << "a third of its lease is waited for otherwise";
    EXPECT_EQ(store_->leaves, 1);
}

TEST_F(AnUnwaitedRelease, OfAHoldThatHoldsNothingIsUnknownAtOnce) {
    Hold hold = acquired("a");
    const Hold other = std::move(hold);
    auto how = Released::in_time;
    hold.async_release([&](Released released) { how = released; });  // NOLINT: moved from
    EXPECT_EQ(how, Released::unknown);
    EXPECT_TRUE(other.held());
    EXPECT_FALSE(Hold().held());
    EXPECT_EQ(Hold().fence(), 0U);
}

TEST_F(AnUnwaitedRelease, IsToldAlsoWhenNobodyHasTheClientAnyMore) {
    std::promise<Released> how;
    Hold hold = acquired("a");
    context_.reset();
    std::exchange(hold, {}).async_release([&](Released released) { how.set_value(released); });
    EXPECT_EQ(how.get_future().get(), Released::in_time);
}

TEST_F(AnUnwaitedRelease, OfSeveralSaysTheWorst) {
    Request both = request("a");
    both.contenders.push_back(request("b").contenders.front());
    Hold hold = HoldState::hold(acquire(context_, std::move(both)).hold);
    const auto lines = store_->inner().inspect("b").get();
    ASSERT_TRUE(store_->inner().leave(lines.value().front().holders.front().ticket).get().ok());
    std::promise<Released> how;
    hold.async_release([&](Released released) { how.set_value(released); });
    EXPECT_EQ(how.get_future().get(), Released::too_late);
    EXPECT_TRUE(nobody_is_left());
}

TEST_F(AnUnwaitedRelease, InAForkedChildTouchesNothing) {
    Hold hold = acquired("a");
    const pid_t child = fork();
    if (child == 0) {
        auto how = Released::in_time;
        hold.async_release([&](Released released) { how = released; });
        _exit(how == Released::unknown ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(store_->leaves, 0);
}

TEST_F(AnUnwaitedRelease, RacesRenewalsAndLeavesNobodyInLine) {
    std::atomic<int> left{4 * 200};
    std::function<void(int)> next = [&](int number) {
        acquire_async(context_, request(std::to_string(number), 100ms), [&, number](Outcome got) {
            ASSERT_TRUE(got.hold);
            // As long as a third of its lease, when it is renewed.
            context_->renewing().at(
                BootClock::now() + std::chrono::microseconds{33'000 + left % 7 * 150},
                [&, number, hold = HoldState::hold(std::move(got.hold))]() mutable {
                    hold = {};
                    if (--left > 0) next(number);
                });
        });
    };
    for (int i = 0; i < 20; ++i) next(i);
    ASSERT_TRUE(await([&] { return left <= -19; }));
    EXPECT_TRUE(await([&] { return nobody_is_left(); }));
}

/// A store whose leaves are answered by another thread.
class LateStore final : public test::PassingStore {
public:
    LateStore() : PassingStore(memory::open_memory(std::string{})) {}

    Pending<Standing> leave(const Ticket& ticket) override {
        auto flight = std::make_shared<Flight<Standing>>(wire());
        answering_.post([this, flight, ticket] { flight->complete(inner().leave(ticket).get()); });
        return Pending<Standing>(flight);
    }

private:
    AlarmThread answering_;
};

TEST(TwoUnwaitedReleases, OfOneHoldAreBothToldHowItWent) {
    const auto context = test::client_of({.store = std::make_shared<LateStore>()});
    for (int i = 0; i < 300; ++i) {
        Hold hold =
            HoldState::hold(acquire(context, {.contenders = {{.resource = "a",
                                                              .nonce = context->next_nonce(),
                                                              .owner = "somebody",
                                                              .lease = 10s}}})
                                .hold);
        std::atomic<int> told{0};
        std::atomic<int> in_time{0};
        std::barrier together(2);
        const auto release = [&] {
            together.arrive_and_wait();
            hold.async_release([&](Released how) {
                if (how == Released::in_time) ++in_time;
                ++told;
            });
        };
        std::jthread other(release);
        release();
        ASSERT_TRUE(await([&] { return told == 2; }));
        ASSERT_EQ(in_time, 2);
    }
}

/// Answers no leave, and no enter, while it is told not to; what is asked next could pass them.
class HeldBackStore final : public test::PassingStore {
public:
    HeldBackStore() : PassingStore(memory::open_memory(std::string{})) {}

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override {
        ++enters;
        return holds_enters ? held_back(enters_) : inner().enter(contenders);
    }
    Pending<Standing> leave(const Ticket& ticket) override {
        {
            const std::lock_guard guard(mutex_);
            left_.push_back(ticket.place);
        }
        return holds_leaves ? held_back(leaves_) : inner().leave(ticket);
    }
    bool in_order() const noexcept override { return false; }

    /// Whoever was held back has come in, at this place.
    void admit_at(const std::string& place) {
        Flights<std::vector<Entry>> come_in;
        {
            const std::lock_guard guard(mutex_);
            come_in = std::exchange(enters_, {});
        }
        for (const auto& one : come_in) {
            one->complete(
                std::vector<Entry>{{.ticket = {.resource = "a", .nonce = {}, .place = place},
                                    .standing = {.state = Standing::State::admitted}}});
        }
    }
    bool has_left(const std::string& place) {
        const std::lock_guard guard(mutex_);
        return std::ranges::find(left_, place) != left_.end();
    }

    /// They, and who waits for them, are owned by each other.
    void forget() {
        std::vector<std::shared_ptr<void>> forgotten;
        const std::lock_guard guard(mutex_);
        for (auto& one : std::exchange(enters_, {})) forgotten.push_back(std::move(one));
        for (auto& one : std::exchange(leaves_, {})) forgotten.push_back(std::move(one));
    }

    std::atomic<bool> holds_enters{false};
    std::atomic<bool> holds_leaves{false};
    std::atomic<int> enters{0};

private:
    template <class T>
    using Flights = std::vector<std::shared_ptr<Flight<T>>>;

    template <class T>
    Pending<T> held_back(Flights<T>& flights) {
        const std::lock_guard guard(mutex_);
        flights.push_back(std::make_shared<Flight<T>>(wire()));
        return Pending<T>(flights.back());
    }

    std::mutex mutex_;
    Flights<std::vector<Entry>> enters_;
    Flights<Standing> leaves_;
    std::vector<std::string> left_;  ///< by their places
};

class AnAsynchronousAcquisition : public testing::Test {
protected:
    ~AnAsynchronousAcquisition() override { store_->forget(); }

    Request request() {
        return {.contenders = {{.resource = "a",
                                .nonce = context_->next_nonce(),
                                .owner = "somebody",
                                .lease = 10s}},
                .stop = stop_.get_token()};
    }
    void begin(Request request) {
        acquire_async(context_, std::move(request),
                      [this](const Outcome& outcome) { ended_ = outcome.end; });
    }
    bool ends_as(Acquisition::End end) {
        return await([&] { return ended_ == end; });
    }
    void give_back_unanswered() {
        auto hold = HoldState::hold(acquire(context_, request()).hold);
        store_->holds_leaves = true;
        hold.async_release();
    }

    std::shared_ptr<HeldBackStore> store_ = std::make_shared<HeldBackStore>();
    std::shared_ptr<Context> context_ = test::client_of({.store = store_, .goodbye = 0ms});
    std::stop_source stop_;
    std::atomic<Acquisition::End> ended_{Acquisition::End::none};
};

TEST_F(AnAsynchronousAcquisition, IsStoppedWhileWhatWasGivenBackBeforeIsNotAnswered) {
    give_back_unanswered();
    begin(request());
    stop_.request_stop();
    EXPECT_TRUE(ends_as(Acquisition::End::stopped));
    EXPECT_EQ(store_->enters, 1);
}

TEST_F(AnAsynchronousAcquisition, EndsInTimeWhileWhatWasGivenBackBeforeIsNotAnswered) {
    give_back_unanswered();
    auto impatient = request();
    impatient.patience = 20ms;
    begin(std::move(impatient));
    EXPECT_TRUE(ends_as(Acquisition::End::busy));
    EXPECT_EQ(store_->enters, 1);
}

TEST_F(AnAsynchronousAcquisition, IsStoppedWhileTheStoreDoesNotAnswer) {
    store_->holds_enters = true;
    begin(request());
    ASSERT_EQ(store_->enters, 1);
    stop_.request_stop();
    EXPECT_TRUE(ends_as(Acquisition::End::stopped));
    // What it left by its nonce alone may have been no place yet.
    store_->admit_at("late");
    EXPECT_TRUE(await([&] { return store_->has_left("late"); }));
}

/// What follows on the same name: by URL, for there it depends on the store.
class AfterAnUnwaitedRelease : public testing::TestWithParam<std::string> {
protected:
    std::string url() const {
        return GetParam() == "local" ? "local://" + folder_.path().string() : "memory:after";
    }

    test::TemporaryFolder folder_;
};

TEST_P(AfterAnUnwaitedRelease, WhatIsAskedForAsynchronouslyComesBehindIt) {
    const auto client = connect(url());
    auto mutex = client.mutex("orders");
    std::atomic<int> left{500};
    std::atomic<int> busy{0};
    std::function<void()> next = [&] {
        mutex.async_try_acquire_for(0s, [&](const std::exception_ptr& failure, Attempt hold) {
            if (failure || !hold) ++busy;
            hold = {};
            if (--left > 0) next();
        });
    };
    next();
    ASSERT_TRUE(await([&] { return left == 0; }));
    EXPECT_EQ(busy, 0);
}

TEST_P(AfterAnUnwaitedRelease, WhoeverAsksAndWaitsComesBehindItToo) {
    const auto client = connect(url());
    auto mutex = client.mutex("orders");
    for (int i = 0; i < 200; ++i) {
        std::promise<Attempt> made;
        mutex.async_acquire(
            [&](const std::exception_ptr&, Attempt hold) { made.set_value(std::move(hold)); });
        { const auto hold = made.get_future().get(); }
        ASSERT_TRUE(mutex.try_acquire());
    }
}

TEST_P(AfterAnUnwaitedRelease, WhoeverOnlyTriesFindsNothingOfHisOwn) {
    const auto client = connect(url());
    auto mutex = client.mutex("orders");
    for (int i = 0; i < 200; ++i) {
        std::promise<Attempt> made;
        mutex.async_acquire(
            [&](const std::exception_ptr&, Attempt hold) { made.set_value(std::move(hold)); });
        { const auto hold = made.get_future().get(); }
        ASSERT_TRUE(mutex.try_lock());
        mutex.unlock();
    }
}

TEST_P(AfterAnUnwaitedRelease, TheEndOfTheClientDoesNotLoseIt) {
    for (int i = 0; i < 20; ++i) {
        {
            const auto client = connect(url());
            std::promise<Attempt> made;
            client.mutex("orders").async_acquire(
                [&](const std::exception_ptr&, Attempt hold) { made.set_value(std::move(hold)); });
            const auto hold = made.get_future().get();
            ASSERT_TRUE(hold);
        }
        const auto next = connect(url()).mutex("orders").try_acquire_for(10s);
        EXPECT_TRUE(next) << "a third of a lease later somebody would look again";
    }
}

INSTANTIATE_TEST_SUITE_P(On, AfterAnUnwaitedRelease, testing::Values("memory", "local"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace holdfast::core
