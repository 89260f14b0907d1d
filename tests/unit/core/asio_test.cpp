#include <filesystem>

#include <asio.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/deferred.hpp>

#include <holdfast/asio.hpp>
#include <holdfast/holdfast.hpp>

#include "support/suite.hpp"

namespace holdfast {
namespace {

using asio::use_awaitable;
using asio::experimental::as_tuple;

std::error_code code_of(const std::exception_ptr& failure) {
    try {
        if (failure) std::rethrow_exception(failure);
    } catch (const Error& error) {
        return error.code();
    }
    return {};
}

class Asio : public testing::Test {
protected:
    /// Runs a coroutine to its end; throws what it threw.
    template <class Result>
    Result run(asio::awaitable<Result> coroutine) {
        auto result = asio::co_spawn(loop_, std::move(coroutine), asio::use_future);
        loop_.restart();
        loop_.run();
        return result.get();
    }
    bool nobody_is_left() const { return client_.inspect().empty(); }
    bool one_waits() const {
        const auto orders = client_.look_at("orders");
        return orders && orders->waiters.size() == 1;
    }

    asio::io_context loop_;
    Client client_ = connect("memory:");
    Mutex orders_{client_, "orders"};
    int unused_ = 0;
};

TEST_F(Asio, ACallbackIsCalledOnItsExecutorWhichHasWorkUntilThen) {
    std::thread::id called_on;
    async_acquire(orders_, asio::bind_executor(
                               loop_, [&](const std::exception_ptr& failure, const Hold& hold) {
                                   EXPECT_FALSE(failure);
                                   EXPECT_TRUE(hold.held());
                                   called_on = std::this_thread::get_id();
                               }));
    EXPECT_EQ(called_on, std::thread::id());
    loop_.run();
    EXPECT_EQ(called_on, std::this_thread::get_id());
    EXPECT_TRUE(await([&] { return nobody_is_left(); }));
}

asio::awaitable<void> chain(Mutex& mutex, int length, int& busy) {
    for (int i = 0; i < length; ++i) {
        Attempt hold = co_await async_try_acquire_for(mutex, 0s, use_awaitable);
        if (!hold) ++busy;
        // Given back without waiting, and before what follows.
        hold = {};
    }
}

/// Those of the system's context are made when somebody asks for it.
TEST_F(Asio, NoThreadOfAsiosIsMadeForIt) {
    const auto threads = [] {
        const std::filesystem::directory_iterator all("/proc/self/task");
        return std::distance(begin(all), end(all));
    };
    async_acquire(orders_, asio::use_future).get().release();
    run(chain(orders_, 1, unused_));
    std::promise<void> called;
    async_acquire(orders_, [&](const std::exception_ptr&, const Hold&) { called.set_value(); });
    called.get_future().get();
    // This one, three of the client, and perhaps one of a sanitizer, once those of the tests before
    // this have ended.
    EXPECT_TRUE(await([&] { return threads() <= 5; }));
}

TEST_F(Asio, ACallbackWithoutAnExecutorIsCalledToo) {
    std::promise<Released> how;
    async_acquire(orders_, [&](const std::exception_ptr&, Hold hold) {
        async_release(std::move(hold), [&](Released released) { how.set_value(released); });
    });
    EXPECT_EQ(how.get_future().get(), Released::in_time);
}

TEST_F(Asio, AFutureHasTheHoldOrTheError) {
    auto made = async_acquire(orders_, asio::use_future);
    Hold hold = made.get();
    EXPECT_TRUE(hold.held());
    const Attempt busy = async_try_acquire_for(orders_, 0s, asio::use_future).get();
    EXPECT_FALSE(busy);
    auto pool = client_.semaphore("pool", 3);
    EXPECT_EQ(async_release(std::move(hold), asio::use_future).get(), Released::in_time);
    // What fails at once needs an executor that can call back, and asio's own would have threads.
    auto refused = async_acquire(pool, 4, asio::bind_executor(loop_, asio::use_future));
    auto nothing = async_release(Hold(), asio::bind_executor(loop_, asio::use_future));
    loop_.run();
    EXPECT_THROW(refused.get(), Error);
    EXPECT_EQ(nothing.get(), Released::unknown);
}

asio::awaitable<void> each_lock(const Client& client) {
    auto table = client.shared_mutex("table");
    const Hold reader = co_await async_acquire_shared(table, use_awaitable);
    const Attempt beside = co_await async_try_acquire_shared_for(table, 1s, use_awaitable);
    EXPECT_TRUE(beside);
    const Attempt writer = co_await async_try_acquire_for(table, 0s, use_awaitable);
    EXPECT_FALSE(writer);
    auto pool = client.semaphore("pool", 3);
    const Hold two = co_await async_acquire(pool, 2, use_awaitable);
    const Attempt two_more = co_await async_try_acquire_for(pool, 0s, 2, use_awaitable);
    EXPECT_FALSE(two_more);
    const Hold third = co_await async_acquire(pool, use_awaitable);
    auto several = client.multi_lock({"a", "b"});
    const Hold both = co_await async_acquire(several, use_awaitable);
    EXPECT_TRUE(reader.held() && two.held() && third.held() && both.held());
}

TEST_F(Asio, ACoroutineHoldsEachKindOfLock) {
    run(each_lock(client_));
    EXPECT_TRUE(await([&] { return nobody_is_left(); }));
}

TEST_F(Asio, WhatACoroutineGivesBackIsFreeForWhatItAsksForNext) {
    int busy = 0;
    run(chain(orders_, 500, busy));
    EXPECT_EQ(busy, 0);
}

asio::awaitable<std::error_code> failure_of_too_many(Semaphore& pool) {
    auto [failure, hold] = co_await async_acquire(pool, 4, as_tuple(use_awaitable));
    EXPECT_FALSE(hold.held());
    co_return code_of(failure);
}

TEST_F(Asio, ACoroutineNeedNotCatch) {
    auto pool = client_.semaphore("pool", 3);
    EXPECT_EQ(run(failure_of_too_many(pool)), errc::invalid_argument);
}

asio::awaitable<std::uint64_t> deferred_fence(Mutex& mutex) {
    auto later = async_acquire(mutex, asio::experimental::deferred);
    {
        const Attempt free_until_then = mutex.try_acquire();
        EXPECT_TRUE(free_until_then);
    }
    const Hold hold = co_await std::move(later)(use_awaitable);
    co_return hold.fence();
}

TEST_F(Asio, WhatIsDeferredBeginsWhenItIsAwaited) {
    EXPECT_GT(run(deferred_fence(orders_)), 0U);
}

TEST_F(Asio, ACancelledWaitEndsAndLeavesNobodyInLine) {
    const Hold held = orders_.acquire();
    asio::cancellation_signal cancel;
    std::error_code failure;
    bool has_hold = true;
    async_acquire(orders_,
                  asio::bind_cancellation_slot(
                      cancel.slot(), asio::bind_executor(loop_, [&](const std::exception_ptr& told,
                                                                    const Hold& hold) {
                          failure = code_of(told);
                          has_hold = hold.held();
                      })));
    ASSERT_TRUE(await([&] { return one_waits(); }));
    asio::post(loop_, [&] { cancel.emit(asio::cancellation_type::total); });
    loop_.run();
    EXPECT_EQ(failure, errc::cancelled);
    EXPECT_FALSE(has_hold);
    EXPECT_FALSE(cancel.slot().has_handler());
    EXPECT_TRUE(await([&] { return !one_waits(); }));
}

asio::awaitable<bool> held_before(Mutex& mutex, std::chrono::milliseconds limit) {
    using namespace asio::experimental::awaitable_operators;
    asio::steady_timer timer(co_await asio::this_coro::executor, limit);
    auto first = co_await (async_acquire(mutex, use_awaitable) || timer.async_wait(use_awaitable));
    co_return first.index() == 0;
}

TEST_F(Asio, ATimerMayEndTheWait) {
    {
        const Hold held = orders_.acquire();
        EXPECT_FALSE(run(held_before(orders_, 20ms)));
        EXPECT_TRUE(await([&] { return !one_waits(); }));
    }
    EXPECT_TRUE(run(held_before(orders_, 30s)));
}

/// Whoever comes first, there is one end, and nothing is left behind.
TEST_F(Asio, CancellationRacesAdmission) {
    int ends = 0;
    constexpr int rounds = 200;
    for (int i = 0; i < rounds; ++i) {
        auto held = std::make_shared<Hold>(orders_.acquire());
        asio::cancellation_signal cancel;
        const auto ended = [&](const std::exception_ptr&, const Hold&) { ++ends; };
        async_acquire(orders_, asio::bind_cancellation_slot(cancel.slot(),
                                                            asio::bind_executor(loop_, ended)));
        std::jthread releasing([&] { held->release(); });
        asio::post(loop_, [&] { cancel.emit(asio::cancellation_type::terminal); });
        loop_.restart();
        loop_.run();
    }
    EXPECT_EQ(ends, rounds);
    EXPECT_TRUE(await([&] { return nobody_is_left(); }));
}

/// As when a server ends in the middle of its requests.
TEST_F(Asio, AContextThatEndsTakesItsHandlersWithIt) {
    auto other = std::make_unique<asio::io_context>();
    Hold held = orders_.acquire();
    bool called = false;
    const auto whole = std::make_shared<int>(0);
    async_acquire(orders_,
                  asio::bind_executor(*other, [&called, whole](const std::exception_ptr&,
                                                               const Hold&) { called = true; }));
    ASSERT_TRUE(await([&] { return one_waits(); }));
    other.reset();
    EXPECT_EQ(whole.use_count(), 1) << "the handler is destroyed";
    EXPECT_TRUE(await([&] { return !one_waits(); })) << "nobody waits for it any more";
    held.release();
    EXPECT_TRUE(await([&] { return nobody_is_left(); }));
    EXPECT_FALSE(called);
}

TEST_F(Asio, AContextMayEndWhileItsHandlersAreSent) {
    for (int i = 0; i < 200; ++i) {
        auto other = std::make_unique<asio::io_context>();
        auto held = std::make_shared<Hold>(orders_.acquire());
        async_acquire(orders_,
                      asio::bind_executor(*other, [](const std::exception_ptr&, const Hold&) {}));
        std::jthread releasing([&] { held->release(); });
        other.reset();
    }
    EXPECT_TRUE(await([&] { return nobody_is_left(); }));
}

asio::awaitable<void> count_up(Mutex& mutex, int rounds, int& counter) {
    for (int i = 0; i < rounds; ++i) {
        Hold hold = co_await async_acquire(mutex, use_awaitable);
        const int seen = counter;
        co_await asio::post(use_awaitable);
        counter = seen + 1;
        co_await async_release(std::move(hold), use_awaitable);
    }
}

TEST_F(Asio, ManyCoroutinesOnSeveralThreadsCountExactly) {
    constexpr int coroutines = 20;
    constexpr int rounds = 20;
    asio::thread_pool pool(4);
    int counter = 0;
    std::vector<std::future<void>> all;
    for (int i = 0; i < coroutines; ++i) {
        all.push_back(asio::co_spawn(pool, count_up(orders_, rounds, counter), asio::use_future));
    }
    for (auto& one : all) one.get();
    pool.join();
    EXPECT_EQ(counter, coroutines * rounds);
}

}  // namespace
}  // namespace holdfast
