#pragma once

#include <gtest/gtest.h>

#include <future>
#include <holdfast/holdfast.hpp>
#include <random>
#include <string>
#include <thread>

#include "faults/server_faults.hpp"
#include "port/store.hpp"
#include "stores/open_store.hpp"
#include "support/arena.hpp"
#include "support/await.hpp"
#include "support/byte_proxy.hpp"
#include "support/contender.hpp"
#include "support/soak.hpp"
#include "support/temporary_folder.hpp"

/// What can go wrong with a store in a database: the same cases for each kind of server. `Site` has
/// the server, and how a few things are said to it:
///     Server server;
///     std::string sessions()             the statement that lists our connections' numbers
///     void kill_session(std::string)     ends a connection of that number
///     void drop_column()                 one that every lock needs
///     void become_older()                tables of an older version, and no procedure of this one
///     void run(statement)                among our tables
namespace holdfast::test {

using namespace std::chrono_literals;

template <class Site>
class SqlFaults : public testing::Test {
protected:
    std::string url(const std::string& parameters = "") const {
        return site_.server.url() + parameters;
    }
    std::string url_behind(const std::string& parameters = "") const {
        return site_.server.url_through(proxy_.port()) + parameters;
    }
    std::size_t kill_all_sessions() {
        const std::string found = site_.server.query(site_.sessions());
        std::size_t count = 0;
        for (std::size_t at = 0; at < found.size();) {
            const auto end = std::min(found.find('\n', at), found.size());
            site_.kill_session(found.substr(at, end - at));
            ++count;
            at = end + 1;
        }
        return count;
    }
    std::size_t waiters(const Client& client) const { return waiters_of(client, "orders"); }
    static Nonce nonce() {
        static std::mt19937_64 random{std::random_device{}()};
        Nonce made;
        for (auto& byte : made.bytes) byte = static_cast<std::byte>(random());
        return made;
    }
    static Contender contender() {
        return {.resource = "orders", .nonce = nonce(), .owner = "somebody", .lease = 30s};
    }
    static std::future<Hold> acquire_elsewhere(const Client& client) {
        return std::async(std::launch::async,
                          [client] { return client.mutex("orders", {.lease = 30s}).acquire(); });
    }

    /// Of a counter that nothing guards but the lock; `in_the_middle` is called when half of it is
    /// done.
    template <class Function>
    void expect_exact_count(Function in_the_middle) {
        constexpr int processes = 20;
        constexpr int rounds = 100;
        const TemporaryFolder folder;
        const std::string arena_file = folder.path() / "arena";
        const SharedArena arena{arena_file};
        const Contenders contenders{url("?request_timeout=60s&connect_timeout=20s")};
        std::vector<Child> running;
        for (int i = 0; i < processes; ++i) {
            running.push_back(contenders.busy("count", arena_file, rounds));
        }
        ASSERT_TRUE(await([&] { return arena->ready == processes; }));
        arena->go = true;
        ASSERT_TRUE(await([&] { return arena->counter > processes * rounds / 2; }, 120s));
        in_the_middle();
        for (Child& child : running) EXPECT_TRUE(ended_well(child, 200s));
        EXPECT_EQ(arena->counter, static_cast<std::uint64_t>(processes) * rounds);
    }

    Site site_;
    ByteProxy proxy_{site_.server.port()};
};
TYPED_TEST_SUITE_P(SqlFaults);

TYPED_TEST_P(SqlFaults, AKilledConnectionOfAHolderCostsNothing) {
    const Client client = connect(this->url());
    auto hold = client.mutex("orders", {.lease = 900ms}).acquire();
    for (int round = 0; round < 3; ++round) {
        // Made anew by each renewal.
        EXPECT_TRUE(await([&] { return this->kill_all_sessions() > 0; }));
    }
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(hold.release(), Released::in_time);
}

TYPED_TEST_P(SqlFaults, KilledConnectionsOfAWaiterCostItALookAndNotItsPlace) {
    const Client holder = connect(this->url());
    const Client client = connect(this->url());
    auto hold = holder.mutex("orders", {.lease = 30s}).acquire();
    auto waiting = this->acquire_elsewhere(client);
    ASSERT_TRUE(await([&] { return this->waiters(holder) == 1; }));
    EXPECT_GE(this->kill_all_sessions(), 2U);
    EXPECT_EQ(hold.release(), Released::in_time);
    ASSERT_EQ(waiting.wait_for(5s), std::future_status::ready);
    EXPECT_GT(waiting.get().fence(), hold.fence());
}

TYPED_TEST_P(SqlFaults, ARestartKeepsHolderAndWaiter) {
    const Client holder = connect(this->url());
    const Client client = connect(this->url());
    auto hold = holder.mutex("orders", {.lease = 30s}).acquire();
    auto waiting = this->acquire_elsewhere(client);
    ASSERT_TRUE(await([&] { return this->waiters(holder) == 1; }));
    this->site_.server.restart();
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(this->waiters(connect(this->url())), 1U);
    EXPECT_NE(hold.release(), Released::too_late);
    ASSERT_EQ(waiting.wait_for(15s), std::future_status::ready);
    EXPECT_GT(waiting.get().fence(), hold.fence());
}

TYPED_TEST_P(SqlFaults, AnEnterWhoseReplyIsLostAfterItsCommitIsOneContender) {
    const Client client = connect(this->url_behind());
    auto mutex = client.mutex("orders", {.lease = 30s});
    mutex.acquire().release();
    this->proxy_.lose_next_answer();
    auto hold = mutex.acquire();
    EXPECT_EQ(this->proxy_.lost(), 1);
    const auto lines = client.inspect("orders");
    ASSERT_EQ(lines.size(), 1U);
    ASSERT_EQ(lines[0].holders.size(), 1U);
    EXPECT_EQ(lines[0].holders[0].fence, hold.fence());
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_TRUE(client.inspect().empty());
}

TYPED_TEST_P(SqlFaults, AFirstConnectionThatIsCutIsMadeAgain) {
    this->proxy_.lose_next_answer();
    const Client client = connect(this->url_behind());
    EXPECT_EQ(this->proxy_.lost(), 1);
    EXPECT_EQ(client.mutex("orders").acquire().release(), Released::in_time);
}

TYPED_TEST_P(SqlFaults, AServerThatIsNotThereYetIsWaitedFor) {
    this->site_.server.kill();
    auto connecting =
        std::async(std::launch::async, [&] { return connect(this->url("?request_timeout=30s")); });
    EXPECT_EQ(connecting.wait_for(300ms), std::future_status::timeout);
    this->site_.server.restart();
    EXPECT_EQ(connecting.get().mutex("orders").acquire().release(), Released::in_time);
}

TYPED_TEST_P(SqlFaults, AServerThatStaysAwayIsToldWithTheReason) {
    this->site_.server.kill();
    const auto started = std::chrono::steady_clock::now();
    const Error error = error_of([&] { return connect(this->url("?request_timeout=400ms")); });
    EXPECT_GE(std::chrono::steady_clock::now() - started, 400ms);
    EXPECT_EQ(error.code(), errc::unreachable);
    expect_says(error, "refused");
}

TYPED_TEST_P(SqlFaults, SeveralThatComeAgainWhileTheyWaitLockNobodyOut) {
    const Client client = connect(this->url_behind());
    const Client rival = connect(this->url());
    auto hold = rival.mutex("b", {.lease = 1500ms}).acquire();
    this->proxy_.lose_next_answer();
    auto all = std::async(std::launch::async, [&] {
        return client.multi_lock({"a", "b", "c"}, {.lease = 30s}).acquire();
    });
    ASSERT_TRUE(await([&] { return this->proxy_.lost() == 1; }));
    ASSERT_TRUE(await([&] { return waiters_of(rival, "b") == 1; }));
    // Whatever session does it: others see it.
    auto other = client.mutex("other").acquire();
    const auto attempt = rival.mutex("other").try_acquire();
    EXPECT_FALSE(attempt);
    EXPECT_EQ(hold.lengthen(2s), true);
    EXPECT_EQ(hold.release(), Released::in_time);
    all.get().release();
    EXPECT_EQ(other.release(), Released::in_time);
}

TYPED_TEST_P(SqlFaults, ALeaveWhoseReplyIsLostDoesNotTouchTheSuccessor) {
    const Client client = connect(this->url_behind());
    const Client rival = connect(this->url());
    auto hold = client.mutex("orders", {.lease = 30s}).acquire();
    auto waiting = this->acquire_elsewhere(rival);
    ASSERT_TRUE(await([&] { return this->waiters(rival) == 1; }));
    this->proxy_.lose_next_answer();
    EXPECT_NE(hold.release(), Released::too_late);
    auto next = waiting.get();
    EXPECT_GT(next.fence(), hold.fence());
    EXPECT_TRUE(next.held());
    EXPECT_EQ(next.release(), Released::in_time);
}

TYPED_TEST_P(SqlFaults, ABlackHoleIsAnErrorInTimeAndTheHoldIsTold) {
    connect(this->url());  // to make tables and procedures takes longer
    const Client client = connect(this->url_behind("?request_timeout=500ms&connect_timeout=2s"));
    auto hold = client.mutex("orders", {.lease = 900ms}).acquire();
    this->proxy_.black_hole();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }, 2s));
    EXPECT_FALSE(hold.held());
    const auto started = std::chrono::steady_clock::now();
    EXPECT_THROW(static_cast<void>(client.mutex("other").try_acquire()), Error);
    EXPECT_LT(std::chrono::steady_clock::now() - started, 2s);
    this->proxy_.pass();
    EXPECT_TRUE(await([&] { return !client.inspect().size(); }));
}

/// Its enter is on its way all the time, and is carried out when the way is free.
TYPED_TEST_P(SqlFaults, OneThatNobodyWantsIsTakenOutHoweverLongTheServerIsAway) {
    const auto direct = open_store(this->url()).store;
    const auto store =
        open_store(this->url_behind("?request_timeout=500ms&connect_timeout=2s")).store;
    const Contender unwanted = this->contender();
    this->proxy_.black_hole();
    { const auto dropped = store->enter({&unwanted, 1}); }
    // Whoever waits for an answer serves all; there is none, of any of them.
    for (int i = 0; i < 4; ++i) EXPECT_FALSE(store->inspect("").get().ok());
    this->proxy_.pass();
    EXPECT_TRUE(await([&] {
        static_cast<void>(store->inspect("").get());
        return !direct->enter({&unwanted, 1}).get().ok();
    })) << "it can come in";
    EXPECT_TRUE(direct->inspect("").get().value().empty());
}

TYPED_TEST_P(SqlFaults, AHoldWhoseRowIsDeletedByHandIsToldAndTheNextHasALargerFence) {
    const Client client = connect(this->url());
    auto hold = client.mutex("orders", {.lease = 900ms}).acquire();
    this->site_.server.query(this->site_.everything_from("holdfast_contenders"));
    this->site_.server.query(this->site_.everything_from("holdfast_lines"));
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }, 2s));
    EXPECT_EQ(hold.loss(), Loss::ended);
    const auto next = connect(this->url()).mutex("orders").try_acquire();
    ASSERT_TRUE(next);
    EXPECT_GT(next->fence(), hold.fence());
}

TYPED_TEST_P(SqlFaults, ATableThatMissesAColumnIsNamed) {
    const Client client = connect(this->url());
    client.mutex("orders").acquire().release();
    this->site_.drop_column();
    try {
        client.mutex("orders").acquire().release();
        ADD_FAILURE() << "it was let in";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::corrupt) << error.what();
        EXPECT_NE(std::string(error.what()).find("column"), std::string::npos) << error.what();
    }
}

TYPED_TEST_P(SqlFaults, TablesOfAnOlderVersionAreRefusedWithWhatToDo) {
    connect(this->url());
    this->site_.become_older();
    const Error error = error_of([&] { return connect(this->url()); });
    EXPECT_EQ(error.code(), errc::corrupt) << error.what();
    expect_says(error, "another version of holdfast");
    const std::string_view sentence = error.what();
    const auto advice = sentence.find("DROP TABLE");
    ASSERT_NE(advice, sentence.npos) << sentence;
    this->site_.run(std::string(sentence.substr(advice, sentence.find(", and ", advice) - advice)));
    EXPECT_EQ(connect(this->url()).mutex("orders").acquire().release(), Released::in_time);
}

/// It has no place of its own, and would be kept beside the next holder.
TYPED_TEST_P(SqlFaults, AHoldThatJoinedAnotherIsToldWhenTheRowOfThatOneIsDeletedByHand) {
    const Client client = connect(this->url());
    const LockOptions options{.lease = 900ms, .owner = "build", .reenter = true};
    auto hold = client.mutex("orders", options).acquire();
    auto joined = client.mutex("orders", options).acquire();
    ASSERT_EQ(joined.fence(), hold.fence());
    this->site_.server.query(this->site_.everything_from("holdfast_contenders") +
                             " WHERE weight > 0");
    EXPECT_TRUE(await([&] { return joined.lost().stop_requested(); }));
    EXPECT_EQ(joined.loss(), Loss::ended);
}

TYPED_TEST_P(SqlFaults, TwoThatEnterAtTheSameMomentAreOneHolderAndOneBehindIt) {
    const int pairs = rounds(1000, 10'000);
    const auto first = open_store(this->url() + "?request_timeout=30s").store;
    const auto second = open_store(this->url() + "?request_timeout=30s").store;
    for (int round = 0; round < pairs; ++round) {
        const Contender one = this->contender();
        const Contender other = this->contender();
        auto pending = std::pair(first->enter({&one, 1}), second->enter({&other, 1}));
        const auto entered = std::move(pending.first).get();
        const auto beside = std::move(pending.second).get();
        ASSERT_TRUE(entered.ok() && beside.ok()) << round;
        const auto a = entered.value()[0].standing.state;
        const auto b = beside.value()[0].standing.state;
        const bool one_of_each =
            (a == Standing::State::admitted) != (b == Standing::State::admitted) &&
            (a == Standing::State::waiting) != (b == Standing::State::waiting);
        ASSERT_TRUE(one_of_each) << round;
        // The waiter first, so that nothing is offered.
        const bool first_holds = a == Standing::State::admitted;
        const auto waiter_left =
            second->leave((first_holds ? beside : entered).value()[0].ticket).get();
        ASSERT_TRUE(waiter_left.ok()) << round << ": " << waiter_left.failure().sentence;
        ASSERT_TRUE(first->leave((first_holds ? entered : beside).value()[0].ticket).get().ok());
    }
}

TYPED_TEST_P(SqlFaults, TwentyProcessesCountExactly) {
    this->expect_exact_count([] {});
}

TYPED_TEST_P(SqlFaults, TwentyProcessesCountExactlyWhileTheServerIsRestarted) {
    this->expect_exact_count([&] { this->site_.server.restart(); });
}

REGISTER_TYPED_TEST_SUITE_P(
    SqlFaults, AKilledConnectionOfAHolderCostsNothing,
    KilledConnectionsOfAWaiterCostItALookAndNotItsPlace, ARestartKeepsHolderAndWaiter,
    AnEnterWhoseReplyIsLostAfterItsCommitIsOneContender, AFirstConnectionThatIsCutIsMadeAgain,
    AServerThatIsNotThereYetIsWaitedFor, AServerThatStaysAwayIsToldWithTheReason,
    SeveralThatComeAgainWhileTheyWaitLockNobodyOut, ALeaveWhoseReplyIsLostDoesNotTouchTheSuccessor,
    ABlackHoleIsAnErrorInTimeAndTheHoldIsTold,
    OneThatNobodyWantsIsTakenOutHoweverLongTheServerIsAway,
    AHoldWhoseRowIsDeletedByHandIsToldAndTheNextHasALargerFence, ATableThatMissesAColumnIsNamed,
    TablesOfAnOlderVersionAreRefusedWithWhatToDo,
    AHoldThatJoinedAnotherIsToldWhenTheRowOfThatOneIsDeletedByHand,
    TwoThatEnterAtTheSameMomentAreOneHolderAndOneBehindIt, TwentyProcessesCountExactly,
    TwentyProcessesCountExactlyWhileTheServerIsRestarted);

}  // namespace holdfast::test
