#include "contract/stores.hpp"

/// The life of a hold: kept, lost, given back, watched, and got without a thread.
namespace holdfast::test {
namespace {

class HoldOf : public Contract {};
HOLDFAST_FOR_EVERY_STORE(HoldOf);

TEST_P(HoldOf, OneResourceIsKeptFarBeyondItsLease) {
    const Hold hold = client_.mutex("orders", {.lease = 3s}).acquire();
    const auto end = Clock::now() + 5s;
    auto rival = another_client().mutex("orders", {.lease = 3s});
    while (Clock::now() < end) {
        ASSERT_TRUE(hold.held());
        const auto attempt = rival.try_acquire_for(50ms);
        ASSERT_FALSE(attempt);
    }
    EXPECT_EQ(hold.loss(), Loss::none);
    EXPECT_FALSE(hold.lost().stop_requested());
    EXPECT_GT(hold.remaining(), 0ns);
    EXPECT_LE(hold.remaining(), 3s);
}

TEST_P(HoldOf, AWaiterKeepsItsPlaceFarBeyondItsLease) {
    auto hold = client_.mutex("orders", {.lease = 3s}).acquire();
    Acquiring waiter(another_client(), "orders", {.lease = 3s});
    ASSERT_TRUE(await_waiters("orders", 1));
    EXPECT_FALSE(await([&] { return waiters("orders") == 0; }, 5s));
    EXPECT_FALSE(waiter.is_over());
    hold.release();
    EXPECT_TRUE(waiter.get().held());
}

TEST_P(HoldOf, LengthenedItStandsForSoLongUntilTheNextRenewal) {
    if (!can().lengthens) GTEST_SKIP() << GetParam().name << " has a session for each lease";
    auto hold = client_.mutex("orders", {.lease = 3s}).acquire();
    ASSERT_TRUE(hold.lengthen(1h));
    EXPECT_GT(hold.remaining(), long_lease() * 5 / 6);
    const auto lease_left = [&] { return client_.inspect()[0].holders.at(0).lease_left; };
    EXPECT_GT(lease_left(), long_lease() * 5 / 6);
    EXPECT_TRUE(await([&] { return hold.remaining() < 3s; })) << "from the renewal's send on";
    EXPECT_TRUE(await([&] { return lease_left() <= 3s; })) << "and from its arrival";
    EXPECT_TRUE(hold.held());
}

TEST_P(HoldOf, SeveralResourcesAreLengthenedTogether) {
    if (!can().lengthens) GTEST_SKIP() << GetParam().name << " has a session for each lease";
    auto hold = client_.multi_lock({"a", "b"}).acquire();
    ASSERT_TRUE(hold.lengthen(1h));
    EXPECT_GT(hold.remaining(), long_lease() * 5 / 6);
    EXPECT_GT(client_.inspect()[1].holders.at(0).lease_left, long_lease() * 5 / 6);
}

TEST_P(HoldOf, WhatIsLostCannotBeLengthened) {
    auto hold = client_.mutex("orders").acquire();
    client_.break_hold("orders", hold.fence());
    EXPECT_FALSE(hold.lengthen(1h));
    EXPECT_EQ(hold.loss(), Loss::ended);
    hold.release();
    EXPECT_FALSE(hold.lengthen(1h));
}

TEST_P(HoldOf, AClientThatHangsIsEndedByItsLeaseAndTheFenceRises) {
    const auto store = mortal_port();
    const Entry hung = enter_undriven(*store, 300ms);
    const Hold next = client_.mutex("orders").acquire();
    EXPECT_GT(next.fence(), hung.standing.fence);
    EXPECT_EQ(store->leave(hung.ticket).get().value().state, Standing::State::gone);
    EXPECT_TRUE(next.held());
}

TEST_P(HoldOf, AWaiterThatHangsAtTheHeadIsPassedOver) {
    if (!GetParam().offers) GTEST_SKIP() << GetParam().name << " passes over nobody";
    const auto store = port();
    auto hold = client_.mutex("orders").acquire();
    enter_undriven(*store, 30s);
    Acquiring waiter(client_, "orders");
    ASSERT_TRUE(await_waiters("orders", 2));
    const auto started = Clock::now();
    hold.release();
    EXPECT_TRUE(waiter.get().held());
    EXPECT_LT(Clock::now() - started, 10s) << "not after the lease of 30 s";
}

TEST_P(HoldOf, AReleaseAfterTheLossIsTooLateAndTouchesNobody) {
    auto first = client_.mutex("orders").acquire();
    break_holders("orders");
    const Hold second = another_client().mutex("orders").acquire();
    EXPECT_EQ(first.release(), Released::too_late);
    EXPECT_EQ(first.release(), Released::too_late);
    EXPECT_EQ(holders("orders"), 1U);
    EXPECT_TRUE(second.held());
}

TEST_P(HoldOf, AReleaseMayBeRepeated) {
    auto mutex = client_.mutex("orders");
    auto first = mutex.acquire();
    EXPECT_EQ(first.release(), Released::in_time);
    EXPECT_FALSE(first.held());
    EXPECT_EQ(first.remaining(), 0ns);
    EXPECT_EQ(first.loss(), Loss::none);
    const Hold second = mutex.acquire();
    EXPECT_EQ(first.release(), Released::in_time);
    EXPECT_TRUE(second.held());
    EXPECT_FALSE(first.lost().stop_requested()) << "given back is not lost";
}

TEST_P(HoldOf, ReleasesFromManyThreadsAreOne) {
    auto mutex = client_.mutex("orders");
    auto hold = mutex.acquire();
    together(8, [&](int) { EXPECT_EQ(hold.release(), Released::in_time); });
    EXPECT_TRUE(client_.inspect().empty());
}

TEST_P(HoldOf, MovingAHoldMovesTheDutyToGiveItBack) {
    auto mutex = client_.mutex("orders");
    std::optional<Hold> outer;
    {
        Hold inner = mutex.acquire();
        const auto fence = inner.fence();
        outer.emplace(std::move(inner));
        EXPECT_EQ(outer->fence(), fence);
    }
    EXPECT_TRUE(outer->held());
    EXPECT_EQ(holders("orders"), 1U);
    outer.reset();
    EXPECT_EQ(holders("orders"), 0U);
}

TEST_P(HoldOf, AssigningOverAHoldGivesItBack) {
    Hold hold = client_.mutex("a").acquire();
    hold = client_.mutex("b").acquire();
    EXPECT_EQ(holders("a"), 0U);
    EXPECT_EQ(holders("b"), 1U);
    auto& same = hold;
    hold = std::move(same);
    EXPECT_EQ(holders("b"), 1U);
}

TEST_P(HoldOf, AHoldOutlivesItsLockAndItsClient) {
    std::optional<Hold> hold;
    {
        const auto client = another_client();
        hold.emplace(client.mutex("orders", {.lease = 3s}).acquire());
    }
    // It is renewed all the same.
    EXPECT_FALSE(await([&] { return !hold->held(); }, 5s));
    EXPECT_EQ(hold->release(), Released::in_time);
}

TEST_P(HoldOf, NoRenewalFollowsARelease) {
    for (int i = 0; i < 20; ++i) {
        auto hold = client_.mutex("orders", {.lease = 100ms}).acquire();
        std::this_thread::sleep_for(33ms + std::chrono::microseconds{i * 50});
        // On a busy machine it may be answered later than anybody waits for it.
        const bool answered = hold.release() != Released::unknown;
        ASSERT_TRUE(client_.inspect().empty() ||
                    (!answered && await([&] { return client_.inspect().empty(); })));
    }
    EXPECT_FALSE(await([&] { return !client_.inspect().empty(); }, 100ms));
}

TEST_P(HoldOf, WithLockCallsWithTheHoldAndGivesTheResult) {
    const auto fence = client_.with_lock("orders", [&](const Hold& hold) {
        EXPECT_TRUE(hold.held());
        EXPECT_EQ(holders("orders"), 1U);
        return hold.fence();
    });
    EXPECT_GT(fence, 0U);
    EXPECT_EQ(holders("orders"), 0U);
    EXPECT_THROW(client_.with_lock("orders", [](const Hold&) { throw std::runtime_error("no"); }),
                 std::runtime_error);
    EXPECT_EQ(holders("orders"), 0U);
}

TEST_P(HoldOf, WithLockTellsALoss) {
    EXPECT_EQ(error_of([&] {
                  client_.with_lock("orders",
                                    [&](const Hold& hold) {
                                        break_holders("orders");
                                        EXPECT_TRUE(await([&] { return !hold.held(); }));
                                    },
                                    {.lease = 3s});
              }),
              errc::lost);
}

TEST_P(HoldOf, AnEmptyAttemptHasNoValue) {
    const Hold hold = client_.mutex("orders").acquire();
    auto attempt = client_.mutex("orders").try_acquire();
    EXPECT_FALSE(attempt.has_value());
    EXPECT_THROW(static_cast<void>(attempt.value()), std::bad_optional_access);
}

/// Counts what it is told.
class Counting : public Observer {
public:
    void waiting(std::string_view resource) override { note("waiting " + std::string(resource)); }
    void wait_ended(std::string_view resource, WaitEnd how,
                    std::chrono::nanoseconds waited) override {
        EXPECT_GE(waited, 0ns);
        note((how == WaitEnd::admitted ? "waited " : "gave up ") + std::string(resource));
    }
    void renewed(std::string_view resource, std::uint64_t) override {
        note("renewed " + std::string(resource));
    }
    void acquired(std::string_view resource, std::uint64_t fence,
                  std::chrono::nanoseconds waited) override {
        EXPECT_GT(fence, 0U);
        EXPECT_GE(waited, 0ns);
        note("acquired " + std::string(resource));
    }
    void released(std::string_view resource, std::uint64_t, Released how) override {
        note((how == Released::in_time ? "released " : "released too late ") +
             std::string(resource));
    }
    void lost(std::string_view resource, std::uint64_t, Loss why) override {
        EXPECT_EQ(why, Loss::ended);
        note("lost " + std::string(resource));
    }
    int times(const std::string& what) {
        const std::lock_guard guard(mutex_);
        return static_cast<int>(std::ranges::count(told_, what));
    }

private:
    void note(std::string what) {
        const std::lock_guard guard(mutex_);
        told_.push_back(std::move(what));
    }
    std::mutex mutex_;
    std::vector<std::string> told_;
};

TEST_P(HoldOf, AnObserverIsToldOfEveryStep) {
    const auto observer = std::make_shared<Counting>();
    const auto observed = another_client({.observer = observer});
    auto mutex = observed.mutex("orders", {.lease = 3s});
    auto first = mutex.acquire();
    EXPECT_EQ(observer->times("acquired orders"), 1);
    EXPECT_EQ(observer->times("waiting orders"), 0);
    Thread waiter([&] { static_cast<void>(mutex.acquire()); });
    ASSERT_TRUE(await([&] { return observer->times("waiting orders") == 1; }));
    ASSERT_TRUE(await_waiters("orders", 1));
    first.release();
    waiter.join();
    EXPECT_EQ(observer->times("acquired orders"), 2);
    EXPECT_EQ(observer->times("released orders"), 2);
    EXPECT_EQ(observer->times("waited orders"), 1);
    auto third = mutex.acquire();
    EXPECT_TRUE(await([&] { return observer->times("renewed orders") >= 1; }));
    const auto busy = mutex.try_acquire_for(20ms);
    EXPECT_FALSE(busy);
    EXPECT_EQ(observer->times("gave up orders"), observer->times("waiting orders") - 1);
    break_holders("orders");
    EXPECT_TRUE(await([&] { return observer->times("lost orders") == 1; }));
    third.release();
    EXPECT_EQ(observer->times("released too late orders"), 1);
}

class Asynchronous : public Contract {
protected:
    struct Answer {
        std::promise<Attempt> promise;
        std::future<Attempt> future = promise.get_future();
        std::error_code failure{};  ///< read it once it is here

        OnAcquired done() {
            return [this](std::exception_ptr thrown, Attempt attempt) {
                // Looked at on the thread that frees it: ThreadSanitizer does not see the counting
                // inside an exception_ptr.
                if (thrown) failure = error_of([&] { std::rethrow_exception(std::move(thrown)); });
                promise.set_value(std::move(attempt));
            };
        }
        bool here(std::chrono::milliseconds limit = patience) const {
            return future.wait_for(limit) == std::future_status::ready;
        }
    };
};
HOLDFAST_FOR_EVERY_STORE(Asynchronous);

TEST_P(Asynchronous, AFreeResourceIsHeldByTheCallback) {
    auto mutex = client_.mutex("orders");
    Answer answer;
    mutex.async_acquire(answer.done());
    ASSERT_TRUE(answer.here());
    auto attempt = answer.future.get();
    ASSERT_TRUE(attempt);
    EXPECT_TRUE(attempt->held());
}

TEST_P(Asynchronous, AWaiterIsCalledBackInItsTurn) {
    auto mutex = client_.mutex("orders");
    auto hold = another_client().mutex("orders").acquire();
    Answer first;
    Answer second;
    mutex.async_acquire(first.done());
    ASSERT_TRUE(await_waiters("orders", 1));
    mutex.async_acquire(second.done());
    ASSERT_TRUE(await_waiters("orders", 2));
    hold.release();
    ASSERT_TRUE(first.here());
    auto one = first.future.get();
    ASSERT_TRUE(one);
    EXPECT_FALSE(second.here(50ms));
    one->release();
    ASSERT_TRUE(second.here());
}

TEST_P(Asynchronous, ACancelledWaitIsCalledBackAndLeavesNothing) {
    auto mutex = client_.mutex("orders");
    const Hold hold = mutex.acquire();
    std::stop_source stop;
    Answer answer;
    mutex.async_acquire(answer.done(), stop.get_token());
    ASSERT_TRUE(await_waiters("orders", 1));
    stop.request_stop();
    ASSERT_TRUE(answer.here());
    EXPECT_EQ(answer.failure, errc::cancelled);
    EXPECT_TRUE(await_waiters("orders", 0));
}

TEST_P(Asynchronous, ATimedWaitEndsWithAnEmptyAttempt) {
    auto mutex = client_.mutex("orders");
    const Hold hold = mutex.acquire();
    for (const auto limit : {0ms, 50ms}) {
        Answer answer;
        mutex.async_try_acquire_for(limit, answer.done());
        ASSERT_TRUE(answer.here());
        const auto attempt = answer.future.get();
        EXPECT_FALSE(attempt);
    }
    EXPECT_TRUE(await_waiters("orders", 0));
}

/// In which order they came, and how long nobody did. Also for callbacks that come when the test
/// has failed.
struct Arrivals {
    std::mutex mutex;
    std::vector<std::size_t> order;
    Moment latest = BootClock::now();
    std::chrono::nanoseconds longest_pause{0};

    void start() {
        const std::lock_guard guard(mutex);
        latest = BootClock::now();
    }
    void add(std::size_t which) {
        const std::lock_guard guard(mutex);
        order.push_back(which);
        const Moment before = std::exchange(latest, BootClock::now());
        longest_pause = std::max(longest_pause, latest - before);
    }
    std::size_t count() {
        const std::lock_guard guard(mutex);
        return order.size();
    }
};

TEST_P(Asynchronous, ManyWaitersOfOneProcessAllComeThroughInOrder) {
    constexpr std::size_t count = 500;
    auto mutex = client_.mutex("orders");
    auto hold = another_client().mutex("orders").acquire();
    const auto arrivals = std::make_shared<Arrivals>();
    for (std::size_t i = 0; i < count; ++i) {
        mutex.async_acquire([arrivals, i](const std::exception_ptr& failure, Attempt attempt) {
            EXPECT_FALSE(failure);
            EXPECT_TRUE(attempt);
            arrivals->add(i);
        });
    }
    ASSERT_TRUE(await_waiters("orders", count));
    arrivals->start();
    hold.release();
    ASSERT_TRUE(await([&] { return arrivals->count() == count; }));
    // Whoever stands still for as long as an offer lasts is passed over.
    constexpr auto claim_time = 1s;
    EXPECT_TRUE(std::ranges::is_sorted(arrivals->order) || arrivals->longest_pause >= claim_time);
    EXPECT_TRUE(await([&] { return client_.inspect().empty(); }));
}

TEST_P(Asynchronous, PermitsReadersAndSeveralResourcesAreGotTheSameWay) {
    Answer permits;
    auto semaphore = client_.semaphore("pool", 3);
    semaphore.async_acquire(permits.done(), 2);
    Answer reader;
    auto shared = client_.shared_mutex("table");
    shared.async_acquire_shared(reader.done());
    Answer both;
    auto several = client_.multi_lock({"a", "b"});
    several.async_acquire(both.done());
    ASSERT_TRUE(permits.here() && reader.here() && both.here());
    const auto two = permits.future.get();
    const auto table = reader.future.get();
    const auto ab = both.future.get();
    const auto too_many = semaphore.try_acquire(2);
    EXPECT_FALSE(too_many);
    const auto another_reader = shared.try_acquire_shared();
    EXPECT_TRUE(another_reader);
    EXPECT_EQ(ab->fences().size(), 2U);
}

TEST_P(Asynchronous, AFailureReachesTheCallback) {
    const Hold hold = client_.semaphore("pool", 3).acquire();
    auto mutex = client_.mutex("pool");
    Answer answer;
    mutex.async_acquire(answer.done());
    ASSERT_TRUE(answer.here());
    EXPECT_EQ(answer.failure, errc::conflict);
}

TEST_P(Asynchronous, WhatIsGivenBackUnwaitedIsFreeForWhatIsAskedForNext) {
    auto mutex = client_.mutex("orders");
    std::atomic<int> left{50};
    std::atomic<int> busy{0};
    std::function<void()> next = [&] {
        mutex.async_try_acquire_for(0s, [&](const std::exception_ptr& failure, Attempt attempt) {
            if (failure || !attempt) ++busy;
            attempt = {};
            if (--left > 0) next();
        });
    };
    next();
    ASSERT_TRUE(await([&] { return left == 0; }));
    EXPECT_EQ(busy, 0);
    EXPECT_TRUE(await([&] { return client_.inspect().empty(); }));
}

TEST_P(Asynchronous, AReleaseIsCalledBackAndLetsTheNextOneIn) {
    auto mutex = client_.mutex("orders");
    Hold hold = another_client().mutex("orders").acquire();
    Answer answer;
    mutex.async_acquire(answer.done());
    ASSERT_TRUE(await_waiters("orders", 1));
    std::promise<Released> how;
    hold.async_release([&](Released released) { how.set_value(released); });
    EXPECT_EQ(how.get_future().get(), Released::in_time);
    ASSERT_TRUE(answer.here());
    const auto attempt = answer.future.get();
    EXPECT_TRUE(attempt);
}

TEST_P(Asynchronous, ACallbackMayAcquireAgain) {
    auto mutex = client_.mutex("orders");
    std::atomic<int> left{50};
    std::function<void()> next = [&] {
        mutex.async_acquire([&](const std::exception_ptr& failure, Attempt attempt) {
            EXPECT_FALSE(failure);
            if (attempt) attempt->release();
            if (--left > 0) next();
        });
    };
    next();
    EXPECT_TRUE(await([&] { return left == 0; }));
    EXPECT_TRUE(await([&] { return client_.inspect().empty(); }));
}

}  // namespace
}  // namespace holdfast::test
