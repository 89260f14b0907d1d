#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/alarm_thread.hpp"
#include "core/context.hpp"
#include "core/pursuit.hpp"
#include "faults/failing_store.hpp"
#include "stores/memory/memory_store.hpp"
#include "support/await.hpp"

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;
using End = Acquisition::End;
using test::await;
using test::Failing;

/// Notes what it is told.
class Notes final : public Observer {
public:
    void waiting(std::string_view resource) override { note("waiting", resource); }
    void acquired(std::string_view resource, std::uint64_t, std::chrono::nanoseconds) override {
        note("acquired", resource);
    }
    void released(std::string_view resource, std::uint64_t, Released) override {
        note("released", resource);
    }
    void lost(std::string_view resource, std::uint64_t, Loss) override { note("lost", resource); }
    void store_failed(std::string_view sentence) override { note("failed", sentence); }

    std::vector<std::string> all_of_them() {
        const std::lock_guard guard(mutex_);
        return notes_;
    }
    bool contains(const std::string& text) {
        const auto notes = all_of_them();
        return std::ranges::find(notes, text) != notes.end();
    }

private:
    void note(const std::string& what, std::string_view about) {
        const std::lock_guard guard(mutex_);
        notes_.push_back(what + " " + std::string(about));
    }
    std::mutex mutex_;
    std::vector<std::string> notes_;
};

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
    /// Somebody ends it, as the program's `break` does.
    void end_at_store(const std::string& resource) {
        const auto lines = store_->inner().inspect("p/" + resource).get();
        const Ticket ticket = lines.value().front().holders.front().ticket;
        ASSERT_TRUE(store_->inner().leave(ticket).get().ok());
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
    std::shared_ptr<Notes> notes_ = std::make_shared<Notes>();
    std::shared_ptr<Context> context_ =
        Context::make({.store = store_,
                       .clock = std::make_shared<SystemClock>(),
                       .renewing = std::make_unique<AlarmThread>(),
                       .telling = std::make_unique<AlarmThread>(),
                       .prefix = "p/",
                       .options = {.owner = "somebody", .observer = notes_}});
};

TEST_F(AContest, TellsTheObserverTheUsersName) {
    acquire_now("a")->release();
    EXPECT_EQ(notes_->all_of_them(), (std::vector<std::string>{"acquired a", "released a"}));
}

TEST_F(AContest, EndsAtOnceWhenItIsStoppedBeforeItWaits) {
    const auto held = acquire_now("a");
    std::stop_source stop;
    stop.request_stop();
    auto stopped = request("a");
    stopped.stop = stop.get_token();
    EXPECT_EQ(acquire(context_, std::move(stopped)).end, End::stopped);
    EXPECT_EQ(waiters(), 0U);
    held->release();
}

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

TEST_F(AContest, ManyWaitersOfOneProcessGetTheirTurns) {
    const auto held = acquire_now("a");
    std::atomic<int> ended{0};
    for (int i = 0; i < 200; ++i) {
        acquire_async(context_, request("a"), [&](Outcome outcome) {
            EXPECT_EQ(outcome.end, End::admitted);
            if (outcome.hold) outcome.hold->release();
            ++ended;
        });
    }
    EXPECT_EQ(waiters(), 200U);
    held->release();
    EXPECT_TRUE(await([&] { return ended == 200; }));
}

TEST_F(AContest, AHoldEndedAtTheStoreIsLostWithTheNextRenewal) {
    const auto hold = acquire_now("a", 300ms);
    const auto token = hold->lost();
    end_at_store("a");
    ASSERT_TRUE(await([&] { return token.stop_requested(); }));
    EXPECT_FALSE(hold->held());
    EXPECT_EQ(hold->loss(), Loss::ended);
    EXPECT_EQ(hold->release(), Released::too_late);
    EXPECT_EQ(hold->release(), Released::too_late) << "later calls answer what the first one did";
    EXPECT_TRUE(notes_->contains("lost a"));
}

TEST_F(AContest, AReleasedHoldIsNeverLost) {
    const auto hold = acquire_now("a", 200ms);
    EXPECT_EQ(hold->release(), Released::in_time);
    EXPECT_FALSE(hold->held());
    EXPECT_EQ(hold->loss(), Loss::none);
    EXPECT_EQ(hold->remaining(), 0ns);
    EXPECT_FALSE(hold->lost().stop_requested());
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

TEST_F(AContest, ANonceIsNeverGivenTwice) {
    std::vector<Nonce> nonces;
    for (int i = 0; i < 1000; ++i) nonces.push_back(context_->next_nonce());
    std::ranges::sort(nonces);
    EXPECT_EQ(std::ranges::adjacent_find(nonces), nonces.end());
}

}  // namespace
}  // namespace holdfast::core
