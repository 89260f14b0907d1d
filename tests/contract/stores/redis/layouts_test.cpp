#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>

#include "contract/stores.hpp"
#include "servers/redis_server.hpp"
#include "stores/open_store.hpp"
#include "support/arena.hpp"
#include "support/contender.hpp"
#include "support/rounds.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

/// The layouts of others on Redis. There is no line: who waits is not seen, and barges. So they
/// have their own cases, for everything that they promise.
namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

class Layouts : public testing::TestWithParam<const char*> {
protected:
    static std::string url() {
        return RedisServer::shared().url() + "?prefix=t/&layout=" + GetParam();
    }
    static bool is_redisson() { return GetParam() == std::string("redisson"); }
    Client another_client() const { return connect(url()); }

    /// Nobody holds anything; what is left of ours ends by itself.
    void expect_nothing_left() const {
        EXPECT_TRUE(await([&] { return client_.inspect().empty(); }));
    }

    const int flushed_ = (RedisServer::shared().flush(), 0);
    Client client_ = connect(url());
};
INSTANTIATE_TEST_SUITE_P(Redis, Layouts, testing::Values("plain", "redisson"),
                         [](const auto& about) { return std::string(about.param); });

TEST_P(Layouts, OneHoldsAndAnotherDoesNot) {
    auto hold = client_.mutex("orders").acquire();
    EXPECT_FALSE(another_client().mutex("orders").try_lock());
    EXPECT_FALSE(another_client().mutex("orders").try_lock_for(50ms));
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_TRUE(another_client().mutex("orders").try_lock());
}

TEST_P(Layouts, FencesRiseAlsoOverAFlush) {
    std::uint64_t last = 0;
    for (int i = 0; i < 50; ++i) {
        if (i % 10 == 9) RedisServer::shared().flush();
        const Hold hold = client_.mutex("orders").acquire();
        EXPECT_GT(hold.fence(), last);
        last = hold.fence();
    }
}

TEST_P(Layouts, AWaiterIsWokenByAReleaseLongBeforeItWouldLook) {
    auto holding = another_client();
    for (int i = 0; i < 10; ++i) {
        auto hold = holding.mutex("orders").acquire();
        auto waiting = std::async(std::launch::async, [&] {
            const Hold next = client_.mutex("orders").acquire();
            return std::chrono::steady_clock::now();
        });
        // It is seen to wait by nobody: only that it does not get in.
        EXPECT_EQ(waiting.wait_for(20ms), std::future_status::timeout);
        const auto released = std::chrono::steady_clock::now();
        hold.release();
        EXPECT_LT(waiting.get() - released, sanitized ? 5s : 500ms);
    }
}

TEST_P(Layouts, ALeaseThatNobodyRenewsEndsAndOneThatIsRenewedDoesNot) {
    const auto store = open_store(url()).store;
    const Contender hung{
        .resource = "t/orders", .nonce = {{std::byte{1}}}, .owner = "hung", .lease = 300ms};
    const auto entries = store->enter({&hung, 1}).get();
    ASSERT_TRUE(entries.ok());
    auto hold = client_.mutex("orders", {.lease = 1500ms}).acquire();
    EXPECT_GT(hold.fence(), entries.value()[0].standing.fence);
    EXPECT_FALSE(another_client().mutex("orders").try_lock_for(2500ms));
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(store->leave(entries.value()[0].ticket).get().value().state, Standing::State::gone);
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_P(Layouts, AHoldThatOthersEndIsToldAndTouchesNobody) {
    auto hold = client_.mutex("orders", {.lease = 1500ms}).acquire();
    RedisServer::shared().command({"DEL", "t/orders"});
    const Hold next = another_client().mutex("orders").acquire();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_EQ(hold.loss(), Loss::ended);
    EXPECT_EQ(hold.release(), Released::too_late);
    EXPECT_TRUE(next.held());
}

TEST_P(Layouts, AnImpatientOrCancelledWaiterLeavesNothing) {
    auto hold = client_.mutex("orders").acquire();
    EXPECT_FALSE(client_.mutex("orders").try_lock_for(30ms));
    std::stop_source stop;
    auto waiting = std::async(std::launch::async, [&] {
        return error_of(
            [&] { static_cast<void>(client_.mutex("orders").acquire(stop.get_token())); });
    });
    EXPECT_EQ(waiting.wait_for(20ms), std::future_status::timeout);
    stop.request_stop();
    EXPECT_EQ(waiting.get(), errc::cancelled);
    hold.release();
    expect_nothing_left();
    EXPECT_TRUE(another_client().mutex("orders").try_lock());
}

TEST_P(Layouts, ATimedWaiterThatWasToldPassesItOnToTheNextOfItsProcess) {
    for (int i = 0; i < 10; ++i) {
        auto hold = another_client().mutex("orders").acquire();
        auto first = client_.mutex("orders");
        auto brief = std::async(std::launch::async, [&] { return first.try_lock_for(30ms); });
        auto second = client_.mutex("orders");
        auto lasting = std::async(std::launch::async, [&] { second.lock(); });
        EXPECT_EQ(lasting.wait_for(30ms), std::future_status::timeout);
        hold.release();
        if (brief.get()) first.unlock();
        EXPECT_EQ(lasting.wait_for(10s), std::future_status::ready);
        second.unlock();
    }
}

TEST_P(Layouts, SeveralAreTakenTogetherOrNotAtAll) {
    auto in_the_way = another_client().mutex("b").acquire();
    const auto busy = client_.multi_lock({"a", "b"}).try_acquire();
    EXPECT_FALSE(busy);
    EXPECT_TRUE(another_client().mutex("a").try_lock());
    in_the_way.release();
    auto both = client_.multi_lock({"a", "b"}).acquire();
    EXPECT_EQ(both.fences().size(), 2U);
    EXPECT_FALSE(another_client().mutex("a").try_lock());
    both.release();
    expect_nothing_left();
}

TEST_P(Layouts, WhatThereIsNoneOfIsRefusedWhenTheLockIsMade) {
    EXPECT_EQ(error_of([&] { static_cast<void>(client_.semaphore("pool", 3)); }),
              errc::not_supported);
    EXPECT_EQ(
        error_of([&] { static_cast<void>(client_.mutex("orders", {.fairness = Fairness::fifo})); }),
        errc::not_supported);
    if (is_redisson()) return;
    EXPECT_EQ(error_of([&] { static_cast<void>(client_.shared_mutex("table")); }),
              errc::not_supported);
    EXPECT_EQ(error_of([&] { static_cast<void>(client_.mutex("orders", {.reenter = true})); }),
              errc::not_supported);
}

TEST_P(Layouts, AListNeedsAPrefix) {
    const auto bare = connect(RedisServer::shared().url() + "?layout=" + GetParam());
    EXPECT_EQ(error_of([&] { static_cast<void>(bare.inspect()); }), errc::invalid_argument);
    const Hold hold = bare.mutex("orders").acquire();
    ASSERT_EQ(bare.inspect("ord").size(), 1U);
    EXPECT_EQ(bare.inspect("ord")[0].holders.at(0).fence, hold.fence());
}

TEST_P(Layouts, ManyAsynchronousWaitersOfOneProcessAllComeThrough) {
    constexpr int count = 200;
    auto hold = another_client().mutex("orders").acquire();
    auto mutex = client_.mutex("orders");
    std::atomic<int> in{0};
    for (int i = 0; i < count; ++i) {
        mutex.async_acquire([&](const std::exception_ptr& failure, Attempt attempt) {
            EXPECT_FALSE(failure);
            EXPECT_TRUE(attempt.has_value());
            ++in;
        });
    }
    hold.release();
    EXPECT_TRUE(await([&] { return in == count; }));
    expect_nothing_left();
}

TEST_P(Layouts, ThreadsAndProcessesCountExactly) {
    constexpr int contenders = 4;
    constexpr int rounds = sanitized ? 20 : 100;
    const TemporaryFolder folder;
    const std::string file = folder.path() / "arena";
    SharedArena arena(file);
    std::vector<Child> processes;
    for (int i = 0; i < contenders; ++i) {
        processes.push_back(Contenders(url()).busy("count", file, rounds));
    }
    ASSERT_TRUE(await([&] { return arena->ready == contenders; }));
    arena->go = true;
    {
        std::vector<Thread> threads;
        for (int i = 0; i < contenders; ++i) {
            threads.emplace_back([&] { count(client_, *arena, rounds); });
        }
    }
    for (Child& process : processes) EXPECT_TRUE(ended_well(process, 100s));
    EXPECT_EQ(arena->counter, static_cast<std::uint64_t>(2 * contenders * rounds));
    expect_nothing_left();
}

class Redisson : public Layouts {};
INSTANTIATE_TEST_SUITE_P(Redis, Redisson, testing::Values("redisson"),
                         [](const auto& about) { return std::string(about.param); });

TEST_P(Redisson, ReadersAreBesideEachOtherAndAWriterAlone) {
    auto reader = client_.shared_mutex("table").acquire_shared();
    auto other_reader = another_client().shared_mutex("table").try_acquire_shared();
    ASSERT_TRUE(other_reader);
    EXPECT_FALSE(another_client().shared_mutex("table").try_lock());
    reader.release();
    EXPECT_FALSE(another_client().shared_mutex("table").try_lock());
    other_reader->release();
    auto writer = client_.shared_mutex("table").acquire();
    EXPECT_FALSE(another_client().shared_mutex("table").try_lock_shared());
    writer.release();
    expect_nothing_left();
}

TEST_P(Redisson, AllWaitingReadersOfOneProcessComeInWithTheFirst) {
    auto writer = another_client().shared_mutex("table").acquire();
    std::atomic<int> in{0};
    std::atomic<bool> leave{false};
    std::vector<Thread> readers;
    for (int i = 0; i < 5; ++i) {
        readers.emplace_back([&] {
            const Hold hold = client_.shared_mutex("table").acquire_shared();
            ++in;
            while (!leave) std::this_thread::sleep_for(1ms);
        });
    }
    writer.release();
    EXPECT_TRUE(await([&] { return in == 5; }, 20s)) << in;
    leave = true;
}

TEST_P(Redisson, NoSharedLeaseIsLongerThanTheirWatchdogLeavesIt) {
    auto table = client_.shared_mutex("table", {.lease = 60s});
    EXPECT_EQ(error_of([&] { static_cast<void>(table.acquire_shared()); }), errc::invalid_argument);
    table.acquire().release();

    auto reader = client_.shared_mutex("table", {.lease = 30s}).acquire_shared();
    EXPECT_FALSE(reader.lengthen(60s));
    EXPECT_TRUE(reader.held());
    // What a renewal of a Redisson reader does, without looking.
    RedisServer::shared().command({"PEXPIRE", "t/table", "30000"});
    const auto left = std::stol(RedisServer::shared().command({"PTTL", "t/table"}));
    EXPECT_GE(left + 100, client_.inspect("table").at(0).holders.at(0).lease_left.count());
    reader.release();

    const auto patient = connect(url() + "&watchdog=90s");
    EXPECT_TRUE(patient.shared_mutex("table", {.lease = 60s}).try_lock_shared());
    EXPECT_EQ(error_of([&] { connect(RedisServer::shared().url() + "?watchdog=90s"); }),
              errc::bad_configuration);
}

TEST_P(Redisson, ASharedLeaseThatNobodyAskedForIsNoLongerThanTheirWatchdogLeavesIt) {
    const auto impatient = connect(url() + "&watchdog=5s");
    auto table = impatient.shared_mutex("table");
    auto reader = table.acquire_shared();
    EXPECT_LE(reader.remaining(), 5s);
    EXPECT_TRUE(reader.held());
    reader.release();
    EXPECT_GT(table.acquire().remaining(), 5s) << "of a writer it is what it was";
    EXPECT_EQ(impatient.usual_shared_lease(), 5s);
    EXPECT_EQ(impatient.usual_lease(), 30s);
}

TEST_P(Redisson, AnOwnerThatReentersJoinsItsHold) {
    const LockOptions options{.owner = "alice", .reenter = true};
    auto outer = client_.mutex("orders", options).acquire();
    auto inner = another_client().mutex("orders", options).try_acquire();
    ASSERT_TRUE(inner);
    EXPECT_EQ(inner->fence(), outer.fence());
    outer.release();
    EXPECT_FALSE(another_client().mutex("orders").try_lock()) << "the other one has it still";
    inner->release();
    EXPECT_TRUE(another_client().mutex("orders").try_lock());
}

}  // namespace

}  // namespace holdfast::test
