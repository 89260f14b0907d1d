#include <coroutine>

#include <holdfast/awaitable.hpp>
#include <holdfast/holdfast.hpp>

#include "support/suite.hpp"

namespace holdfast {
namespace {

/// A coroutine that runs by itself.
struct Task {
    struct promise_type {
        Task get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

Task hold_and_give_back(Mutex& mutex, std::promise<Released>& done) {
    Hold hold = co_await acquiring(mutex);
    EXPECT_TRUE(hold.held());
    done.set_value(co_await releasing(std::move(hold)));
}

TEST(Awaited, AMutexIsHeldAndGivenBack) {
    auto mutex = connect("memory:").mutex("orders");
    std::promise<Released> done;
    hold_and_give_back(mutex, done);
    EXPECT_EQ(done.get_future().get(), Released::in_time);
    const auto next = mutex.try_acquire();
    EXPECT_TRUE(next);
}

Task try_all(const Client& client, std::promise<int>& done) {
    auto shared = client.shared_mutex("table");
    auto pool = client.semaphore("pool", 3);
    auto both = client.multi_lock({"a", "b"});
    int held = 0;
    const Hold reader = co_await acquiring_shared(shared);
    const Attempt beside = co_await acquiring_shared_within(shared, 1s);
    const Attempt writer = co_await acquiring_within(shared, 0s);
    const Hold two = co_await acquiring(pool, 2);
    const Attempt two_more = co_await acquiring_within(pool, 0s, 2);
    const Hold several = co_await acquiring(both);
    for (const Hold* one : {&reader, &two, &several}) held += one->held() ? 1 : 0;
    if (beside && !writer && !two_more) ++held;
    done.set_value(held);
}

TEST(Awaited, SoAreReadersPermitsAndSeveral) {
    std::promise<int> done;
    try_all(connect("memory:"), done);
    EXPECT_EQ(done.get_future().get(), 4);
}

Task catch_failures(const Client& client, const std::stop_token& stop,
                    std::promise<std::vector<std::error_code>>& done) {
    std::vector<std::error_code> codes;
    auto mutex = client.mutex("orders");
    auto pool = client.semaphore("pool", 3);
    try {
        const Hold hold = co_await acquiring(mutex, stop);
    } catch (const Error& error) {
        codes.push_back(error.code());
    }
    try {
        const Hold hold = co_await acquiring(pool, 4);
    } catch (const Error& error) {
        codes.push_back(error.code());
    }
    done.set_value(codes);
}

TEST(Awaited, WhatTheLockThrowsIsThrownThere) {
    const auto client = connect("memory:");
    const Hold held = client.mutex("orders").acquire();
    std::stop_source stop;
    std::promise<std::vector<std::error_code>> done;
    catch_failures(client, stop.get_token(), done);
    stop.request_stop();
    const auto codes = done.get_future().get();
    ASSERT_EQ(codes.size(), 2U);
    EXPECT_EQ(codes[0], errc::cancelled);
    EXPECT_EQ(codes[1], errc::invalid_argument);
}

/// The coroutine, with the lock in it, may be gone before the call that began it is over.
Task own_lock(Client client, std::atomic<int>& ended) {
    auto mutex = client.mutex("orders");
    { const Hold hold = co_await acquiring(mutex); }
    ++ended;
}

TEST(Awaited, ALockMayEndWithItsCoroutine) {
    std::atomic<int> ended{0};
    for (int i = 0; i < 500; ++i) own_lock(connect("memory:" + std::to_string(i % 5)), ended);
    EXPECT_TRUE(await([&] { return ended == 500; }));
}

}  // namespace
}  // namespace holdfast
