#include "core/pursuit.hpp"
#include "faults/failing_store.hpp"
#include "stores/memory/memory_store.hpp"
#include "support/client_of_store.hpp"
#include "support/suite.hpp"
#include "unit/scarce_memory.hpp"

namespace holdfast::core {
namespace {

using End = Acquisition::End;
using test::Failing;

class AContest : public testing::Test {
protected:
    Request request(std::string resource, std::chrono::milliseconds lease = 10s) {
        return {.contenders = {{.resource = "p/" + std::move(resource),
                                .nonce = context_->next_nonce(),
                                .owner = "somebody",
                                .lease = lease}}};
    }
    std::shared_ptr<HoldState> acquire_now(const std::string& resource,
                                           std::chrono::milliseconds lease = 10s) {
        return acquire(context_, request(resource, lease)).hold;
    }
    std::size_t waiters() {
        const auto lines = store_->inner().inspect({}).get();
        std::size_t count = 0;
        for (const Line& line : lines.value()) count += line.waiters.size();
        return count;
    }
    Place only_waiter() { return store_->inner().inspect({}).get().value().front().waiters.at(0); }
    bool nobody_is_left() {
        const auto lines = store_->inner().inspect({}).get();
        return lines.value().empty();
    }

    std::shared_ptr<test::FailingStore> store_ =
        std::make_shared<test::FailingStore>(memory::open_memory(std::string{}));
    std::shared_ptr<Context> context_ =
        test::client_of({.store = store_, .prefix = "p/", .options = {.owner = "somebody"}});
};

TEST_F(AContest, CallsBackOnceOnTheTellingThread) {
    std::atomic<int> calls{0};
    std::atomic<std::thread::id> called_on;
    std::shared_ptr<HoldState> hold;
    acquire_async(context_, request("a"), [&](Outcome outcome) {
        called_on = std::this_thread::get_id();
        hold = std::move(outcome.hold);
        ++calls;
    });
    ASSERT_TRUE(await([&] { return calls == 1; }));
    EXPECT_NE(called_on.load(), std::this_thread::get_id());
    ASSERT_TRUE(hold);
    hold->release();
}

TEST_F(AContest, AReleaseThatFailsIsDoneInTheBackgroundAndReported) {
    for (const auto how : {Failing::no_effect, Failing::applied_unheard, Failing::lost}) {
        const auto hold = acquire_now("a");
        store_->fail(store_->calls() + 1, how);
        EXPECT_EQ(hold->release(), Released::unknown);
        EXPECT_TRUE(await([&] { return nobody_is_left(); }, 5s));
    }
    const auto next = acquire_now("a");
    EXPECT_TRUE(next->held());
    next->release();
}

TEST_F(AContest, AWaiterThrownOutOfTheLineJoinsItAgain) {
    const auto held = acquire_now("a");
    std::atomic<bool> ended{false};
    Outcome outcome;
    acquire_async(context_, request("a", 300ms), [&](Outcome given) {
        outcome = std::move(given);
        ended = true;
    });
    const Place thrown_out = only_waiter();
    ASSERT_TRUE(store_->inner().leave(thrown_out.ticket).get().ok());
    ASSERT_TRUE(await([&] { return waiters() == 1; }));
    EXPECT_NE(only_waiter().ticket.nonce, thrown_out.ticket.nonce) << "as somebody else";
    EXPECT_FALSE(ended);
    held->release();
    ASSERT_TRUE(await([&] { return ended.load(); }));
    ASSERT_EQ(outcome.end, End::admitted);
    EXPECT_GT(outcome.hold->fences().front(), held->fences().front());
    outcome.hold->release();
}

TEST_F(AContest, AWaiterThrownOutOfTheLineIsBusyWhenItsPatienceIsOver) {
    const auto held = acquire_now("a");
    auto patient = request("a", 300ms);
    patient.patience = 700ms;
    auto waiting = std::async([&] { return acquire(context_, std::move(patient)); });
    ASSERT_TRUE(await([&] { return waiters() == 1; }));
    ASSERT_TRUE(store_->inner().leave(only_waiter().ticket).get().ok());
    EXPECT_EQ(waiting.get().end, End::busy);
    EXPECT_TRUE(await([&] { return waiters() == 0; }));
    held->release();
}

/// An answer and a push may overtake each other on their way.
TEST_F(AContest, LooksWhenItWasToldToThoughSomethingOlderIsHeardAfterwards) {
    const auto held = acquire_now("a");
    auto waiting = std::async(std::launch::async, [&] { return acquire_now("a"); });
    ASSERT_TRUE(await([&] { return store_->is_watched(); }));
    const std::size_t before = store_->looks();
    store_->tell({.state = Standing::State::waiting, .look_again = 50ms});
    store_->tell({.state = Standing::State::waiting, .look_again = 1h});
    EXPECT_TRUE(await([&] { return store_->looks() > before; }, 3s));
    held->release();
    waiting.get()->release();
}

/// The renewing thread may be busy with a store when a look is due.
TEST_F(AContest, LooksWhenThatWasDueThoughItIsToldOfALaterLookBeforeTheAlarmHasTime) {
    const auto held = acquire_now("a");
    auto waiting = std::async(std::launch::async, [&] { return acquire_now("a"); });
    ASSERT_TRUE(await([&] { return store_->is_watched(); }));
    std::promise<void> busy;
    context_->renewing().post([until = busy.get_future().share()] { until.wait(); });
    const auto tell_and_see_it_taken = [&](std::chrono::nanoseconds look_again) {
        const std::size_t before = store_->renewals();
        store_->tell({.state = Standing::State::waiting, .look_again = look_again});
        store_->tell({.state = Standing::State::offered});
        return await([&] { return store_->renewals() > before; });
    };
    EXPECT_TRUE(tell_and_see_it_taken(20ms));
    const Moment due = BootClock::now() + 20ms;
    EXPECT_TRUE(await([&] { return BootClock::now() >= due; }));
    EXPECT_TRUE(tell_and_see_it_taken(1h));
    const std::size_t before = store_->looks();
    busy.set_value();
    EXPECT_TRUE(await([&] { return store_->looks() > before; }, 3s));
    held->release();
    waiting.get()->release();
}

TEST_F(AContest, TakesNothingWhenItIsStoppedBeforeItBegins) {
    std::stop_source stop;
    stop.request_stop();
    auto stopped = request("a");
    stopped.stop = stop.get_token();
    const auto calls = store_->calls();
    EXPECT_EQ(acquire(context_, stopped).end, End::stopped);
    std::atomic<bool> ended{false};
    acquire_async(context_, stopped, [&](Outcome outcome) {
        EXPECT_EQ(outcome.end, End::stopped);
        ended = true;
    });
    EXPECT_TRUE(await([&] { return ended.load(); }));
    EXPECT_EQ(store_->calls(), calls);
}

/// What becomes of those who ask for `b` is told when the test says so; counts their renewals.
class LateStore final : public test::PassingStore {
public:
    LateStore() : PassingStore(memory::open_memory(std::string{})) {}

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override {
        if (contenders.front().resource != "b") return inner().enter(contenders);
        const std::lock_guard guard(mutex_);
        asked_.emplace_back(inner().enter(contenders).get(),
                            std::make_shared<Flight<std::vector<Entry>>>(wire()));
        return Pending<std::vector<Entry>>(asked_.back().second);
    }
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override {
        for (const Ticket& one : tickets) ++(one.resource == "b" ? renewals_of_b : others_renewals);
        return inner().renew(tickets, extension);
    }
    Capabilities capabilities() const override {
        auto capabilities = PassingStore::capabilities();
        capabilities.enter_together = false;
        return capabilities;
    }
    std::size_t asked() const {
        const std::lock_guard guard(mutex_);
        return asked_.size();
    }
    /// Tells whoever asked first that it is in, and all others that they are not.
    void answer() {
        const std::lock_guard guard(mutex_);
        for (auto& [result, flight] : std::exchange(asked_, {})) {
            if (std::exchange(answered_, true)) {
                flight->complete(Failure{errc::unreachable, Effect::none, "no"});
            } else {
                flight->complete(std::move(result));
            }
        }
    }

    std::atomic<int> renewals_of_b{0};
    std::atomic<int> others_renewals{0};

private:
    mutable std::mutex mutex_;
    using Entries = std::vector<Entry>;
    std::vector<std::pair<Result<Entries>, std::shared_ptr<Flight<Entries>>>> asked_;
    bool answered_ = false;
};

TEST(AContestOfSeveral, KeepsNothingThatIsAnsweredAfterItsEnd) {
    const auto store = std::make_shared<LateStore>();
    const auto context = test::client_of({.store = store});
    const auto contender = [&](const std::string& resource) {
        return Contender{.resource = resource,
                         .nonce = context->next_nonce(),
                         .owner = "somebody",
                         .lease = 300ms};
    };
    std::stop_source stop;
    std::atomic<bool> ended{false};
    acquire_async(context,
                  {.contenders = {contender("a"), contender("b")}, .stop = stop.get_token()},
                  [&](const Outcome&) { ended = true; });
    ASSERT_TRUE(await([&] { return store->asked() == 1; }));
    const auto first = store->inner().inspect("a").get().value().front().holders.front();
    ASSERT_TRUE(store->inner().leave(first.ticket).get().ok());
    // By a renewal it learns of that, and ends; whoever follows it enters anew.
    ASSERT_TRUE(await([&] { return store->asked() == 2; }));
    stop.request_stop();
    ASSERT_TRUE(await([&] {
        store->answer();
        return ended.load();
    }));
    const auto other = acquire(context, {.contenders = {contender("c")}}).hold;
    const int before = store->others_renewals;
    EXPECT_TRUE(await([&] { return store->others_renewals >= before + 3; }));
    EXPECT_EQ(store->renewals_of_b, 0);
    other->release();
}

/// Time passes by what a store is asked for.
class LeapingClock final : public Clock {
public:
    Moment now() const noexcept override { return BootClock::now() + ahead.load(); }
    std::uint64_t wall_microseconds() const noexcept override { return 0; }
    std::atomic<std::chrono::nanoseconds> ahead{0ns};
};

class SlowStore final : public test::PassingStore {
public:
    explicit SlowStore(std::shared_ptr<LeapingClock> clock)
        : PassingStore(memory::open_memory(std::string{})), clock_(std::move(clock)) {}

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override {
        ++enters;
        clock_->ahead = clock_->ahead.load() + 1min;
        return inner().enter(contenders);
    }
    Capabilities capabilities() const override {
        auto capabilities = PassingStore::capabilities();
        capabilities.enter_together = false;
        return capabilities;
    }

    std::atomic<int> enters{0};

private:
    const std::shared_ptr<LeapingClock> clock_;
};

TEST(AContestOfSeveral, TakesNoFurtherOneWhenItsTimeIsUp) {
    const auto clock = std::make_shared<LeapingClock>();
    const auto store = std::make_shared<SlowStore>(clock);
    const auto context = test::client_of({.store = store, .clock = clock});
    const auto request = [&] {
        Request made{.contenders = {}, .patience = 90s};
        for (const auto* resource : {"a", "b", "c", "d"}) {
            made.contenders.push_back({.resource = resource,
                                       .nonce = context->next_nonce(),
                                       .owner = "somebody",
                                       .lease = 1h});
        }
        return made;
    };
    EXPECT_EQ(acquire(context, request()).end, End::busy);
    EXPECT_EQ(store->enters, 2);
    std::atomic<End> end{End::none};
    acquire_async(context, request(), [&](const Outcome& outcome) { end = outcome.end; });
    EXPECT_TRUE(await([&] { return end == End::busy; }));
    EXPECT_EQ(store->enters, 4);
    EXPECT_TRUE(await([&] { return store->inspect({}).get().value().empty(); }));
}

TEST(AContestWithoutMemory, EndsAllTheSameAndKeepsNoClient) {
    for (std::size_t number = 1;; ++number) {
        auto context =
            test::client_of({.store = memory::open_memory(std::string{}), .goodbye = 0ms});
        context->make_ready();
        Request request{.contenders = {{.resource = "a",
                                        .nonce = context->next_nonce(),
                                        .owner = "somebody",
                                        .lease = 10s}}};
        std::atomic<int> calls{0};
        test::ScarceMemory scarce(number);
        const bool has_begun = scarce.run(
            [&] { acquire_async(context, std::move(request), [&](const Outcome&) { ++calls; }); });
        EXPECT_TRUE(await([&] { return calls == (has_begun ? 1 : 0); })) << number;
        const std::weak_ptr<Context> client = std::exchange(context, nullptr);
        EXPECT_TRUE(await([&] { return client.expired(); })) << number;
        if (!scarce.has_failed()) break;
    }
}

TEST(AContestWithoutMemory, EndsThoughTheAnswerCannotBeTakenIn) {
    for (std::size_t number = 1;; ++number) {
        const auto store = std::make_shared<LateStore>();
        const auto context = test::client_of({.store = store, .goodbye = 0ms});
        std::atomic<int> calls{0};
        acquire_async(context,
                      {.contenders = {{.resource = "b",
                                       .nonce = context->next_nonce(),
                                       .owner = "somebody",
                                       .lease = 10s}}},
                      [&](const Outcome&) { ++calls; });
        test::ScarceMemory scarce(number);
        scarce.run([&] { store->answer(); });
        // Whoever comes again is answered, too.
        EXPECT_TRUE(await([&] {
            store->answer();
            return calls == 1;
        })) << number;
        if (!scarce.has_failed()) break;
    }
}

TEST_F(AContest, ANonceIsNeverGivenTwice) {
    std::vector<Nonce> nonces;
    for (int i = 0; i < 1000; ++i) nonces.push_back(context_->next_nonce());
    std::ranges::sort(nonces);
    EXPECT_EQ(std::ranges::adjacent_find(nonces), nonces.end());
}

}  // namespace
}  // namespace holdfast::core
