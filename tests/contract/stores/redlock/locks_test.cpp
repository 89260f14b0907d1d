#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <memory>

#include "contract/stores.hpp"
#include "port/sentences.hpp"
#include "servers/redis_nodes.hpp"
#include "stores/open_store.hpp"
#include "support/arena.hpp"
#include "support/contender.hpp"
#include "support/process_wide.hpp"
#include "support/rounds.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

/// Independent nodes have no line: who waits is not seen, and barges. So they have their own cases,
/// for everything that they promise, each with all five nodes and without two of them.
namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using State = Standing::State;

/// Which two of the five fail, how, and when: before anybody has connected, or afterwards.
struct Failing {
    enum class How : std::uint8_t { none, killed, paused };
    enum class When : std::uint8_t { before, meanwhile };

    std::string name;
    How how = How::none;
    When when = When::before;
};

void PrintTo(const Failing& failing, std::ostream* out) {
    *out << failing.name;
}

class Redlock : public testing::TestWithParam<Failing> {
protected:
    static RedisNodes& nodes() { return ProcessWide<RedisNodes>::get(); }
    static std::string url(const std::string& parameters = "") {
        return nodes().url("?prefix=t/" + parameters);
    }
    static std::string where(const std::string& name) { return "t/" + name; }
    Client another_client(ClientOptions options = {}) const {
        return connect(url(), std::move(options));
    }

    std::size_t holders(const std::string& name) const {
        const auto line = client_.look_at(name);
        return line ? line->holders.size() : 0;
    }
    void expect_nothing_left(const std::string& name = "orders") const {
        EXPECT_TRUE(await([&] { return holders(name) == 0; }));
    }

    /// All five are there again, and empty; two fail if it is time.
    static int prepare() {
        for (const std::size_t i : failing) {
            if (!nodes().node(i).runs()) nodes().node(i).restart();
            nodes().node(i).resume();
        }
        nodes().empty();
        return fail(Failing::When::before);
    }
    static int fail(Failing::When when) {
        for (const std::size_t i : failing) {
            if (GetParam().when != when) continue;
            if (GetParam().how == Failing::How::killed) nodes().node(i).kill();
            if (GetParam().how == Failing::How::paused) nodes().node(i).pause();
        }
        return 0;
    }
    static constexpr std::array<std::size_t, 2> failing{1, 4};

    const int prepared_ = prepare();
    Client client_ = connect(url());
    const int failed_ = fail(Failing::When::meanwhile);
};

const auto every_failing = testing::Values(
    Failing{.name = "five"}, Failing{.name = "two_killed", .how = Failing::How::killed},
    Failing{.name = "two_paused", .how = Failing::How::paused},
    Failing{.name = "two_killed_meanwhile",
            .how = Failing::How::killed,
            .when = Failing::When::meanwhile},
    Failing{.name = "two_paused_meanwhile",
            .how = Failing::How::paused,
            .when = Failing::When::meanwhile});
std::string name_of(const testing::TestParamInfo<Failing>& about) {
    return about.param.name;
}
INSTANTIATE_TEST_SUITE_P(Nodes, Redlock, every_failing, name_of);

// --- exclusion ---

TEST_P(Redlock, OneHoldsAndTheOthersFindItBusy) {
    auto hold = client_.mutex("orders").acquire();
    EXPECT_TRUE(hold.held());
    EXPECT_FALSE(another_client().mutex("orders").try_lock());
    EXPECT_FALSE(client_.mutex("orders").try_lock());
    EXPECT_FALSE(another_client().mutex("orders").try_lock_for(50ms));
    EXPECT_TRUE(client_.mutex("orders/42").try_lock());
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_TRUE(another_client().mutex("orders").try_lock());
}

TEST_P(Redlock, FencesRiseFromHoldToHoldAndAcrossClients) {
    std::uint64_t last = 0;
    for (int i = 0; i < 30; ++i) {
        auto client = another_client();
        for (Client* one : {&client, &client_}) {
            const Hold hold = one->mutex("orders").acquire();
            EXPECT_GT(hold.fence(), last);
            last = hold.fence();
        }
    }
}

TEST_P(Redlock, ATimedWaitEndsWhenItsTimeIsUpAndLeavesNothing) {
    auto hold = client_.mutex("orders").acquire();
    const auto started = Clock::now();
    EXPECT_FALSE(another_client().mutex("orders").try_lock_for(150ms));
    EXPECT_GE(Clock::now() - started, 150ms);
    hold.release();
    expect_nothing_left();
}

TEST_P(Redlock, AWaiterIsWokenByTheReleaseLongBeforeItWouldLook) {
    auto holding = another_client();
    for (int i = 0; i < 5; ++i) {
        auto hold = holding.mutex("orders").acquire();
        Acquiring waiter(client_, "orders");
        EXPECT_FALSE(waiter.is_over(40ms));
        const auto released = Clock::now();
        hold.release();
        EXPECT_TRUE(waiter.get().held());
        EXPECT_LT(Clock::now() - released, sanitized ? 5s : 1s);
    }
}

TEST_P(Redlock, ManyAsynchronousWaitersOfOneProcessAllComeThrough) {
    constexpr int count = 100;
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
    EXPECT_TRUE(await([&] { return in == count; }, 60s)) << in;
    expect_nothing_left();
}

TEST_P(Redlock, ACancelledWaitLeavesNothing) {
    auto hold = client_.mutex("orders").acquire();
    std::stop_source stop;
    auto waiting = std::async(std::launch::async, [&] {
        return error_of(
            [&] { static_cast<void>(client_.mutex("orders").acquire(stop.get_token())); });
    });
    EXPECT_EQ(waiting.wait_for(40ms), std::future_status::timeout);
    stop.request_stop();
    EXPECT_EQ(waiting.get(), errc::cancelled);
    hold.release();
    expect_nothing_left();
}

TEST_P(Redlock, CancellingRacesWithAdmissionAndLeavesNothing) {
    auto mutex = client_.mutex("orders");
    for (int round = 0; round < 20; ++round) {
        auto hold = another_client().mutex("orders").acquire();
        std::stop_source stop;
        Thread waiter([&] {
            try {
                EXPECT_TRUE(mutex.acquire(stop.get_token()).held());
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), errc::cancelled) << error.what();
            }
        });
        std::this_thread::sleep_for(std::chrono::milliseconds{round});
        Thread stopper([&] { stop.request_stop(); });
        hold.release();
    }
    expect_nothing_left();
}

TEST_P(Redlock, SeveralAreTakenOneAfterTheOtherOrNoneIsHeld) {
    auto in_the_way = another_client().mutex("b").acquire();
    const auto busy = client_.multi_lock({"c", "a", "b"}).try_acquire();
    EXPECT_FALSE(busy);
    expect_nothing_left("a");
    EXPECT_EQ(holders("c"), 0U);
    Acquiring all([&](const std::stop_token& stop) {
        return client_.multi_lock({"c", "a", "b"}).acquire(stop);
    });
    EXPECT_TRUE(await([&] { return holders("a") == 1; }));
    EXPECT_EQ(holders("c"), 0U) << "nobody holds a later one while it waits for an earlier one";
    in_the_way.release();
    auto hold = all.get();
    EXPECT_EQ(hold.fences().size(), 3U);
    EXPECT_FALSE(another_client().mutex("c").try_lock());
    hold.release();
    for (const char* name : {"a", "b", "c"}) expect_nothing_left(name);
}

TEST_P(Redlock, ThreadsAndProcessesCountExactly) {
    constexpr int processes = 4;
    constexpr int threads = 2;
    constexpr int rounds = sanitized ? 10 : 50;
    const TemporaryFolder folder;
    const std::string file = folder.path() / "arena";
    SharedArena arena(file);
    std::vector<Child> running;
    for (int i = 0; i < processes; ++i) {
        running.push_back(Contenders(url()).busy("count", file, rounds));
    }
    ASSERT_TRUE(await([&] { return arena->ready == processes; }));
    arena->go = true;
    together(threads, [&](int) { count(client_, *arena, rounds); });
    for (Child& process : running) EXPECT_TRUE(ended_well(process, 200s));
    EXPECT_EQ(arena->counter, static_cast<std::uint64_t>((processes + threads) * rounds));
    expect_nothing_left("counter");
}

// --- readers ---

TEST_P(Redlock, ReadersAreBesideEachOtherAndAWriterAlone) {
    auto reader = client_.shared_mutex("table").acquire_shared();
    auto other_reader = another_client().shared_mutex("table").try_acquire_shared();
    ASSERT_TRUE(other_reader);
    EXPECT_NE(reader.fence(), other_reader->fence());
    EXPECT_FALSE(another_client().shared_mutex("table").try_lock());
    reader.release();
    EXPECT_FALSE(another_client().shared_mutex("table").try_lock());
    other_reader->release();
    auto writer = client_.shared_mutex("table").acquire();
    EXPECT_FALSE(another_client().shared_mutex("table").try_lock_shared());
    writer.release();
    expect_nothing_left("table");
}

TEST_P(Redlock, AllWaitingReadersComeInSoonAfterTheWriter) {
    auto writer = another_client().shared_mutex("table").acquire();
    std::atomic<int> in{0};
    std::atomic<bool> leave{false};
    std::vector<Thread> readers;
    for (int i = 0; i < 10; ++i) {
        readers.emplace_back([&, client = i % 2 == 0 ? client_ : another_client()] {
            const Hold hold = client.shared_mutex("table").acquire_shared();
            ++in;
            while (!leave) std::this_thread::sleep_for(1ms);
        });
    }
    std::this_thread::sleep_for(50ms);
    const auto released = Clock::now();
    writer.release();
    EXPECT_TRUE(await([&] { return in == 10; }, 20s)) << in;
    EXPECT_LT(Clock::now() - released, sanitized ? 10s : 3s);
    leave = true;
}

// --- leases ---

TEST_P(Redlock, ALeaseThatNobodyRenewsEndsAndOneThatIsRenewedDoesNot) {
    const auto store = open_store(url()).store;
    const Contender hung{
        .resource = where("orders"), .nonce = {{std::byte{1}}}, .owner = "hung", .lease = 300ms};
    const auto began = Clock::now();
    const auto entries = store->enter({&hung, 1}).get();
    ASSERT_TRUE(entries.ok());
    auto hold = client_.mutex("orders", {.lease = 1500ms}).acquire();
    EXPECT_GE(Clock::now() - began, 280ms);
    EXPECT_LT(Clock::now() - began, 5s);
    EXPECT_GT(hold.fence(), entries.value()[0].standing.fence);
    EXPECT_FALSE(another_client().mutex("orders").try_lock_for(3s));
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(store->leave(entries.value()[0].ticket).get().value().state, State::gone);
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_P(Redlock, AHoldIsLengthenedAsFarAsMaxLease) {
    auto hold = client_.mutex("orders", {.lease = 3s}).acquire();
    ASSERT_TRUE(hold.lengthen(2min));
    EXPECT_GT(hold.remaining(), 50s);
    EXPECT_LE(hold.remaining(), 1min);
    EXPECT_TRUE(await([&] { return hold.remaining() < 3s; })) << "until the next renewal";
    EXPECT_TRUE(hold.held());
}

TEST_P(Redlock, ALeaseBeyondMaxLeaseIsRefusedWhenTheLockIsMade) {
    EXPECT_EQ(error_of([&] { static_cast<void>(client_.mutex("orders", {.lease = 61s})); }),
              errc::invalid_argument);
    const auto brief = connect(url("&max_lease=10s"));
    EXPECT_EQ(error_of([&] { static_cast<void>(brief.mutex("orders", {.lease = 11s})); }),
              errc::invalid_argument);
    EXPECT_LE(brief.mutex("orders").acquire().remaining(), 10s);
}

TEST_P(Redlock, AHoldThatAMajorityHasLostIsToldAndTouchesNobody) {
    auto hold = client_.mutex("orders", {.lease = 1500ms}).acquire();
    for (const std::size_t i : {0, 2, 3}) {
        for (const char* bucket : {"*t/orders="}) {
            const std::string key = nodes().node(i).command(
                {"EVAL", "return redis.call('KEYS', ARGV[1])[1]", "0", bucket});
            nodes().node(i).command({"DEL", key});
        }
    }
    const Hold next = another_client().mutex("orders").acquire();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_EQ(hold.loss(), Loss::ended);
    EXPECT_EQ(hold.release(), Released::too_late);
    EXPECT_TRUE(next.held());
    EXPECT_GT(next.fence(), hold.fence());
}

TEST_P(Redlock, AForkedChildFindsItsHoldInertAndTheParentGoesOn) {
    Child parent = Contenders(url()).talker();
    ASSERT_EQ(parent.hear(), "ready");
    ASSERT_TRUE(parent.ask("acquire orders 1000").starts_with("held "));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(parent.ask("fork"), "child 0 held none");
    EXPECT_FALSE(client_.mutex("orders").try_lock());
    EXPECT_EQ(parent.ask("release"), "in_time");
    EXPECT_TRUE(client_.mutex("orders").try_lock());
}

TEST_P(Redlock, AStoppedHolderIsReplacedAfterItsLeaseAndToldWhenItGoesOn) {
    Child holder = Contenders(url()).talker();
    ASSERT_EQ(holder.hear(), "ready");
    ASSERT_TRUE(holder.ask("acquire orders 1000").starts_with("held "));
    holder.stop();
    const auto stopped = Clock::now();
    auto rival = client_.mutex("orders").acquire();
    EXPECT_LT(Clock::now() - stopped, 10s);
    holder.say("look");
    holder.go_on();
    const std::string found = holder.hear().value_or("nothing");
    EXPECT_TRUE(found.starts_with("not_held")) << found;
    EXPECT_TRUE(holder.ask("await_loss").starts_with("lost "));
    EXPECT_EQ(holder.ask("release"), "too_late");
    EXPECT_TRUE(rival.held());
    EXPECT_EQ(rival.release(), Released::in_time);
}

// --- what there is none of ---

TEST_P(Redlock, WhatThereIsNoneOfIsRefusedWhenTheLockIsMadeNamingThoseThatHaveIt) {
    const auto expect_refused = [](auto make) {
        try {
            static_cast<void>(make());
            ADD_FAILURE() << "it was made";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), errc::not_supported);
            EXPECT_NE(std::string(error.what()).find("zookeeper:"), std::string::npos)
                << error.what();
        }
    };
    expect_refused([&] { return client_.semaphore("pool", 3); });
    expect_refused([&] { return client_.mutex("orders", {.fairness = Fairness::fifo}); });
    expect_refused([&] { return client_.mutex("orders", {.reenter = true}); });
    EXPECT_EQ(client_.mutex("orders", {.fenced = true}).acquire().loss(), Loss::none);
}

TEST_P(Redlock, ARecursiveMutexIsLockedAgainByItsThread) {
    auto mutex = client_.recursive_mutex("orders");
    mutex.lock();
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
    EXPECT_FALSE(another_client().mutex("orders").try_lock());
    mutex.unlock();
    EXPECT_TRUE(another_client().mutex("orders").try_lock());
}

// --- listing and breaking ---

TEST_P(Redlock, AListTellsWhoHoldsByMajority) {
    EXPECT_TRUE(client_.inspect("ord").empty());
    const auto other = another_client({.owner = "some body"});
    const Hold hold = other.mutex("orders").acquire();
    const Hold reader = client_.shared_mutex("table").acquire_shared();
    const auto lines = client_.inspect("");
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(client_.inspect("tab").size(), 1U);
    EXPECT_EQ(lines[0].name, "orders");
    ASSERT_EQ(lines[0].holders.size(), 1U);
    EXPECT_TRUE(lines[0].waiters.empty());
    const ContenderInfo& holder = lines[0].holders[0];
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    EXPECT_EQ(holder.owner, "some body");
    EXPECT_EQ(holder.host, host);
    EXPECT_EQ(holder.pid, getpid());
    EXPECT_EQ(holder.fence, hold.fence());
    EXPECT_TRUE(holder.held);
    EXPECT_EQ(lines[1].holders.at(0).weight, 1U);
}

TEST_P(Redlock, BreakingEndsWhoeverHasTheFence) {
    auto hold = another_client().mutex("orders", {.lease = 1500ms}).acquire();
    EXPECT_FALSE(client_.break_hold("orders", hold.fence() + 1));
    EXPECT_FALSE(client_.break_hold("order", hold.fence()));
    EXPECT_TRUE(client_.break_hold("orders", hold.fence()));
    EXPECT_FALSE(client_.break_hold("orders", hold.fence()));
    const Hold next = client_.mutex("orders").acquire();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_EQ(hold.loss(), Loss::ended);
    EXPECT_EQ(hold.release(), Released::too_late);
    EXPECT_TRUE(next.held());
}

// --- the port ---

class RedlockPort : public Redlock {
protected:
    Contender contender(int number) const {
        return {.resource = where("orders"),
                .nonce = {{std::byte(number), std::byte{7}}},
                .owner = "somebody",
                .lease = 30s};
    }
    Entry enter(const Contender& one) {
        const auto entries = store_->enter({&one, 1}).get();
        EXPECT_TRUE(entries.ok());
        return entries.value().at(0);
    }
    Standing renew(const Ticket& ticket) {
        return store_->renew({&ticket, 1}, Extension(30s)).get().value().at(0);
    }
    State leave(const Ticket& ticket) { return store_->leave(ticket).get().value().state; }

    const std::shared_ptr<Store> store_ = open_store(url()).store;
};
INSTANTIATE_TEST_SUITE_P(Nodes, RedlockPort, every_failing, name_of);

TEST_P(RedlockPort, ARepeatedEnterIsOneContender) {
    const Entry first = enter(contender(1));
    EXPECT_EQ(first.standing.state, State::admitted);
    const Entry again = enter(contender(1));
    EXPECT_EQ(again.standing.state, State::admitted);
    EXPECT_EQ(again.standing.fence, first.standing.fence);
    EXPECT_EQ(leave(first.ticket), State::admitted);
    EXPECT_EQ(leave(again.ticket), State::gone);
}

TEST_P(RedlockPort, RenewingNeverReCreates) {
    const Entry first = enter(contender(1));
    EXPECT_EQ(renew(first.ticket).fence, first.standing.fence);
    EXPECT_EQ(leave(first.ticket), State::admitted);
    EXPECT_EQ(renew(first.ticket).state, State::gone);
    const Entry second = enter(contender(2));
    EXPECT_EQ(renew(first.ticket).state, State::gone);
    EXPECT_EQ(leave(first.ticket), State::gone);
    EXPECT_EQ(renew(second.ticket).state, State::admitted);
    EXPECT_EQ(leave(second.ticket), State::admitted);
}

TEST_P(RedlockPort, AWaiterTakesWhatItFindsFree) {
    const Entry holder = enter(contender(1));
    const Entry waiter = enter(contender(2));
    EXPECT_EQ(waiter.standing.state, State::waiting);
    EXPECT_TRUE(waiter.standing.look_again);
    EXPECT_EQ(renew(waiter.ticket).state, State::waiting);
    EXPECT_EQ(leave(holder.ticket), State::admitted);
    EXPECT_EQ(store_->standing(waiter.ticket).get().value().state, State::offered);
    EXPECT_EQ(renew(waiter.ticket).state, State::admitted);
    EXPECT_EQ(renew(waiter.ticket).state, State::admitted);
    EXPECT_EQ(leave(waiter.ticket), State::admitted);
    expect_nothing_left();
}

TEST_P(RedlockPort, AWatchIsToldWhenTheHolderLeaves) {
    const Entry holder = enter(contender(1));
    const Entry waiter = enter(contender(2));
    std::atomic<bool> listens{false};
    std::atomic<bool> told{false};
    const auto watch = store_->watch(waiter.ticket, [&](const Standing& standing) {
        listens = true;
        if (standing.state == State::offered) told = true;
    });
    const auto interest = store_->wire().interest();
    ASSERT_TRUE(await([&] { return listens.load(); })) << "what was before that is looked for";
    EXPECT_EQ(store_->standing(waiter.ticket).get().value().state, State::offered);
    EXPECT_EQ(renew(waiter.ticket).state, State::waiting);
    EXPECT_EQ(leave(holder.ticket), State::admitted);
    EXPECT_TRUE(await([&] { return told.load(); }));
}

TEST_P(RedlockPort, AnUnansweredEnterIsTakenOutByItsNonceAndRefusedWhenItComesLate) {
    const Contender holder = contender(1);
    enter(holder);
    EXPECT_EQ(leave({holder.resource, contender(2).nonce, {}}), State::gone);
    const auto other = open_store(url()).store;
    EXPECT_EQ(other->leave({holder.resource, holder.nonce, {}}).get().value().state,
              State::admitted);
    expect_nothing_left();
    const auto late = other->enter({&holder, 1}).get();
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.failure().code, withdrawn().code) << late.failure().sentence;
}

TEST_P(RedlockPort, AnEnterThatNobodyWantsAnyMoreIsTakenOut) {
    const Contender one = contender(1);
    { const auto unwanted = store_->enter({&one, 1}); }
    EXPECT_TRUE(await([&] {
        // Whoever waits for an answer reads all.
        return store_->look_at(where("orders")).get().value().empty();
    }));
}

TEST_P(RedlockPort, AListedTicketEndsThatHolderAndNobodyWhoCameLater) {
    const Entry first = enter(contender(1));
    const Ticket listed = store_->look_at(where("orders")).get().value().at(0).holders.at(0).ticket;
    EXPECT_EQ(leave(first.ticket), State::admitted);
    const Entry second = enter(contender(2));
    EXPECT_EQ(leave(listed), State::gone);
    EXPECT_EQ(renew(second.ticket).state, State::admitted);
}

TEST_P(RedlockPort, AHoldOnAMinorityIsShownAsSuch) {
    const Entry holder = enter(contender(1));
    // What is still on its way to a node would come after that was emptied.
    ASSERT_TRUE(await([&] {
        return std::ranges::all_of(std::array<std::size_t, 3>{0, 2, 3}, [&](std::size_t i) {
            return nodes().node(i).command(
                       {"EVAL", "return #redis.call('KEYS', ARGV[1])", "0", "*t/orders="}) == "1";
        });
    }));
    for (const std::size_t i : {0, 2, 3}) nodes().node(i).flush();
    for (const std::size_t i : {0, 2, 3}) nodes().mark(i);
    const auto lines = store_->look_at(where("orders")).get().value();
    for (const Line& line : lines) {
        for (const Place& place : line.holders) {
            EXPECT_NE(place.owner.find("of 5 nodes"), std::string::npos) << place.owner;
        }
    }
    EXPECT_EQ(lines.empty(), GetParam().how != Failing::How::none);
    EXPECT_EQ(renew(holder.ticket).state, State::gone);
    EXPECT_TRUE(await([&] { return store_->look_at(where("orders")).get().value().empty(); }));
}

// --- names ---

TEST_P(Redlock, TwoNamesNeverShareALock) {
    std::vector<std::string> names{"orders",    "Orders",  "orders ",    " orders",   "orders\n",
                                   "orders\0"s, "b",       "b/0",        "/b",        "..",
                                   "{}",        "a%3Ab",   "a:b",        "%25",       "%",
                                   "\x80\xff",  "\xff",    "\xc3\xa9",   "e\xcc\x81", "\0"s,
                                   "~",         "orders=", "orders=left"};
    names.emplace_back(4096, 'x');
    names.push_back(std::string(4095, 'x') + "y");
    std::vector<Hold> holds;
    for (const auto& name : names) {
        auto attempt = client_.mutex(name).try_acquire();
        ASSERT_TRUE(attempt) << testing::PrintToString(name);
        holds.push_back(*std::move(attempt));
    }
    const Client other = another_client();
    for (const auto& name : names) {
        EXPECT_FALSE(other.mutex(name).try_lock()) << testing::PrintToString(name);
        EXPECT_EQ(other.look_at(name)->holders.size(), 1U) << testing::PrintToString(name);
    }
    EXPECT_EQ(other.inspect().size(), names.size());
    for (Hold& hold : holds) EXPECT_EQ(hold.release(), Released::in_time);
}

}  // namespace

}  // namespace holdfast::test
