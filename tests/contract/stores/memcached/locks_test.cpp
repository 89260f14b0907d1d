#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>

#include "contract/stores.hpp"
#include "servers/memcached_server.hpp"
#include "stores/open_store.hpp"
#include "support/arena.hpp"
#include "support/contender.hpp"
#include "support/rounds.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

/// Memcached has neither a line nor a fence nor a list, and one holder at a time. So it has its own
/// cases, for everything that it promises.
namespace holdfast::test {

namespace {

using namespace std::string_literals;
using State = Standing::State;

class Memcached : public testing::TestWithParam<const char*> {
protected:
    static std::string url(const std::string& parameters = "") {
        const std::string url = MemcachedServer::shared().url() + "?prefix=t/&layout=" + GetParam();
        return parameters.empty() ? url : url + "&" + parameters;
    }
    static std::string where(const std::string& name) { return "t/" + name; }
    static bool is_plain() { return GetParam() == "plain"s; }
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

    const int flushed_ = (MemcachedServer::shared().flush(), 0);
    Client client_ = connect(url());
};
INSTANTIATE_TEST_SUITE_P(Memcached, Memcached, testing::Values("holdfast", "plain"),
                         [](const auto& about) { return std::string(about.param); });

// --- exclusion ---

TEST_P(Memcached, OneHoldsAndTheOthersFindItBusy) {
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

TEST_P(Memcached, ATimedWaitEndsWhenItsTimeIsUpAndLeavesNothing) {
    auto hold = client_.mutex("orders").acquire();
    const auto started = Clock::now();
    EXPECT_FALSE(another_client().mutex("orders").try_lock_for(150ms));
    EXPECT_GE(Clock::now() - started, 150ms);
    hold.release();
    expect_nothing_left();
}

TEST_P(Memcached, AWaiterComesInSoonAfterTheRelease) {
    for (int i = 0; i < 5; ++i) {
        auto hold = another_client().mutex("orders").acquire();
        Acquiring waiter(client_, "orders");
        EXPECT_FALSE(waiter.is_over(40ms));
        const auto released = Clock::now();
        hold.release();
        EXPECT_TRUE(waiter.get().held());
        EXPECT_LT(Clock::now() - released, sanitized ? 5s : 1s);
    }
}

TEST_P(Memcached, AWaiterOfTheSameProcessIsToldByTheRelease) {
    auto hold = client_.mutex("orders").acquire();
    std::atomic<int> in{0};
    constexpr int count = 200;
    auto mutex = client_.mutex("orders");
    for (int i = 0; i < count; ++i) {
        mutex.async_acquire([&](const std::exception_ptr& failure, Attempt attempt) {
            EXPECT_FALSE(failure);
            EXPECT_TRUE(attempt.has_value());
            ++in;
        });
    }
    const auto released = Clock::now();
    hold.release();
    EXPECT_TRUE(await([&] { return in == count; }));
    EXPECT_LT(Clock::now() - released, sanitized ? 30s : 10s)
        << "were each to look for itself, it would take a quarter of a second each";
    expect_nothing_left();
}

TEST_P(Memcached, ACancelledWaitLeavesNothing) {
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

TEST_P(Memcached, CancellingRacesWithAdmissionAndLeavesNothing) {
    auto mutex = client_.mutex("orders");
    for (int round = 0; round < 30; ++round) {
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

TEST_P(Memcached, SeveralAreTakenOneAfterTheOtherOrNoneIsHeld) {
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
    EXPECT_EQ(hold.fences(), (std::vector<std::uint64_t>{0, 0, 0}));
    EXPECT_FALSE(another_client().mutex("c").try_lock());
    hold.release();
    for (const char* name : {"a", "b", "c"}) expect_nothing_left(name);
}

TEST_P(Memcached, ThreadsAndProcessesCountExactly) {
    constexpr int processes = 8;
    constexpr int threads = 4;
    constexpr int rounds = sanitized ? 20 : 200;
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

// --- leases ---

TEST_P(Memcached, ALeaseThatNobodyRenewsEndsAndOneThatIsRenewedDoesNot) {
    const auto store = open_store(url()).store;
    const Contender hung{
        .resource = where("orders"), .nonce = {{std::byte{1}}}, .owner = "hung", .lease = 300ms};
    const auto began = Clock::now();
    const auto entries = store->enter({&hung, 1}).get();
    ASSERT_TRUE(entries.ok());
    auto hold = client_.mutex("orders", {.lease = 1500ms}).acquire();
    EXPECT_GE(Clock::now() - began, 300ms) << "no sooner than it was told";
    EXPECT_LT(Clock::now() - began, 5s);
    EXPECT_FALSE(another_client().mutex("orders").try_lock_for(4s));
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(store->leave(entries.value()[0].ticket).get().value().state, State::gone);
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_P(Memcached, AHoldIsTrustedForLessThanItsItemLives) {
    const Hold hold = client_.mutex("orders", {.lease = 5s}).acquire();
    EXPECT_LE(hold.remaining(), 5s);
    const auto line = client_.look_at("orders");
    ASSERT_TRUE(line);
    EXPECT_GE(line->holders.at(0).lease_left, 5s);
    EXPECT_LE(line->holders.at(0).lease_left, 6s);
}

TEST_P(Memcached, AHoldIsLengthened) {
    auto hold = client_.mutex("orders", {.lease = 3s}).acquire();
    ASSERT_TRUE(hold.lengthen(1h));
    EXPECT_GT(hold.remaining(), 50min);
    EXPECT_GT(client_.look_at("orders")->holders.at(0).lease_left, 50min);
    EXPECT_TRUE(await([&] { return hold.remaining() < 3s; })) << "until the next renewal";
    EXPECT_TRUE(hold.held());
}

TEST_P(Memcached, AHoldThatSomebodyEndsIsToldAndTouchesNobody) {
    auto hold = client_.mutex("orders", {.lease = 1500ms}).acquire();
    EXPECT_EQ(MemcachedServer::shared().command("delete t/orders"), "DELETED");
    const Hold next = another_client().mutex("orders").acquire();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_EQ(hold.loss(), Loss::ended);
    EXPECT_EQ(hold.release(), Released::too_late);
    EXPECT_TRUE(next.held());
    EXPECT_EQ(holders("orders"), 1U);
}

TEST_P(Memcached, AForkedChildFindsItsHoldInertAndTheParentGoesOn) {
    Child parent = Contenders(url()).talker();
    ASSERT_EQ(parent.hear(), "ready");
    ASSERT_EQ(parent.ask("acquire orders 1000"), "held 0");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(parent.ask("fork"), "child 0 held none");
    EXPECT_FALSE(client_.mutex("orders").try_lock());
    EXPECT_EQ(parent.ask("release"), "in_time");
    EXPECT_TRUE(client_.mutex("orders").try_lock());
}

TEST_P(Memcached, AStoppedHolderIsReplacedAfterItsLeaseAndToldWhenItGoesOn) {
    Child holder = Contenders(url()).talker();
    ASSERT_EQ(holder.hear(), "ready");
    ASSERT_EQ(holder.ask("acquire orders 1000"), "held 0");
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

TEST_P(Memcached, GivesNoFence) {
    const Hold hold = client_.mutex("orders").acquire();
    EXPECT_EQ(hold.fence(), 0U);
    try {
        static_cast<void>(client_.mutex("orders", {.fenced = true}));
        ADD_FAILURE() << "it was made";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::not_supported);
        EXPECT_NE(std::string(error.what()).find("fences"), std::string::npos) << error.what();
    }
}

TEST_P(Memcached, WhatThereIsNoneOfIsRefusedWhenTheLockIsMadeNamingThoseThatHaveIt) {
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
    expect_refused([&] { return client_.shared_mutex("table"); });
    expect_refused([&] { return client_.mutex("orders", {.fairness = Fairness::fifo}); });
    expect_refused([&] { return client_.mutex("orders", {.reenter = true}); });
}

TEST_P(Memcached, AListIsRefusedAndALookIsNot) {
    EXPECT_EQ(error_of([&] { static_cast<void>(client_.inspect("ord")); }), errc::not_supported);
    EXPECT_FALSE(client_.look_at("orders"));
    const auto other = another_client({.owner = "some body"});
    const Hold hold = other.mutex("orders").acquire();
    const auto line = client_.look_at("orders");
    ASSERT_TRUE(line);
    ASSERT_EQ(line->holders.size(), 1U);
    EXPECT_TRUE(line->waiters.empty());
    const ContenderInfo& holder = line->holders[0];
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    EXPECT_EQ(holder.owner, "some body");
    EXPECT_EQ(holder.host, host);
    EXPECT_EQ(holder.pid, getpid());
    EXPECT_EQ(holder.fence, 0U);
    EXPECT_TRUE(holder.held);
    EXPECT_FALSE(holder.foreign);
}

// --- breaking ---

TEST_P(Memcached, BreakingEndsWhoeverHolds) {
    auto hold = another_client().mutex("orders", {.lease = 1500ms}).acquire();
    EXPECT_FALSE(client_.break_hold("orders", 7)) << "nobody has a fence";
    EXPECT_FALSE(client_.break_hold("order", 0));
    EXPECT_TRUE(client_.break_hold("orders", 0));
    EXPECT_FALSE(client_.break_hold("orders", 0));
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_EQ(hold.loss(), Loss::ended);
    EXPECT_EQ(hold.release(), Released::too_late);
}

TEST_P(Memcached, AListedTicketEndsThatHolderAndNobodyWhoCameLater) {
    const auto store = open_store(url()).store;
    auto first = client_.mutex("orders").acquire();
    const Ticket listed = store->look_at(where("orders")).get().value().at(0).holders.at(0).ticket;
    first.release();
    const Hold second = client_.mutex("orders").acquire();
    EXPECT_EQ(store->leave(listed).get().value().state, State::gone);
    EXPECT_EQ(holders("orders"), 1U);
    EXPECT_TRUE(second.held());
}

// --- the port ---

class MemcachedPort : public Memcached {
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
INSTANTIATE_TEST_SUITE_P(Memcached, MemcachedPort, testing::Values("holdfast", "plain"),
                         [](const auto& about) { return std::string(about.param); });

TEST_P(MemcachedPort, ARepeatedEnterIsOneContender) {
    const Entry first = enter(contender(1));
    EXPECT_EQ(first.standing.state, State::admitted);
    const Entry again = enter(contender(1));
    EXPECT_EQ(again.standing.state, State::admitted);
    EXPECT_EQ(again.ticket.place, first.ticket.place);
    EXPECT_EQ(leave(first.ticket), State::admitted);
    EXPECT_EQ(leave(again.ticket), State::gone);
}

TEST_P(MemcachedPort, RenewingNeverReCreates) {
    const Entry first = enter(contender(1));
    EXPECT_EQ(renew(first.ticket).state, State::admitted);
    EXPECT_EQ(leave(first.ticket), State::admitted);
    EXPECT_EQ(renew(first.ticket).state, State::gone);
    const Entry second = enter(contender(2));
    EXPECT_EQ(renew(first.ticket).state, State::gone);
    EXPECT_EQ(leave(first.ticket), State::gone);
    EXPECT_EQ(renew(second.ticket).state, State::admitted);
    EXPECT_EQ(leave(second.ticket), State::admitted);
}

TEST_P(MemcachedPort, AWaiterTakesWhatItFindsFree) {
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
}

TEST_P(MemcachedPort, AnUnansweredEnterIsFoundAndTakenOutByItsNonce) {
    const Contender holder = contender(1);
    enter(holder);
    EXPECT_EQ(leave({holder.resource, contender(2).nonce, {}}), State::gone);
    EXPECT_EQ(leave({holder.resource, holder.nonce, {}}), State::admitted);
    expect_nothing_left();
}

TEST_P(MemcachedPort, AnEnterThatNobodyWantsAnyMoreIsTakenOut) {
    const Contender one = contender(1);
    { const auto unwanted = store_->enter({&one, 1}); }
    EXPECT_TRUE(await([&] {
        // Whoever waits for an answer reads all.
        return store_->look_at(where("orders")).get().value().empty();
    }));
}

// --- names ---

TEST(MemcachedNames, TwoNamesNeverShareALock) {
    MemcachedServer::shared().flush();
    const Client client = connect(MemcachedServer::shared().url());
    std::vector<std::string> names{
        "orders", "Orders",   "orders ",   " orders", "orders\n", "orders\0"s, "b", "b/0",
        "/b",     "..",       "{}",        "a%3Ab",   "a:b",      "%25",       "%", "\x80\xff",
        "\xff",   "\xc3\xa9", "e\xcc\x81", "\0"s,     "~",        "holdfast/b"};
    for (const std::size_t size : {200, 240, 241, 242, 249, 250, 251, 4095, 4096}) {
        names.emplace_back(size, 'x');
        names.push_back(std::string(size - 1, 'x') + "y");
        names.emplace_back(size, '\n');
    }
    std::vector<Hold> holds;
    for (const auto& name : names) {
        auto attempt = client.mutex(name).try_acquire();
        ASSERT_TRUE(attempt) << testing::PrintToString(name);
        holds.push_back(*std::move(attempt));
    }
    const Client other = connect(MemcachedServer::shared().url());
    for (const auto& name : names) {
        EXPECT_FALSE(other.mutex(name).try_lock()) << testing::PrintToString(name);
        EXPECT_EQ(other.look_at(name)->holders.size(), 1U) << testing::PrintToString(name);
    }
    for (Hold& hold : holds) EXPECT_EQ(hold.release(), Released::in_time);
}

TEST(MemcachedNames, WhatCannotBeAKeyIsRefusedInThePlainLayout) {
    const Client client = connect(MemcachedServer::shared().url() + "?layout=plain");
    for (const std::string& name : {"a b"s, "a\n"s, "\x7f"s, std::string(251, 'x')}) {
        EXPECT_EQ(error_of([&] { static_cast<void>(client.mutex(name).try_acquire()); }),
                  errc::invalid_argument);
        EXPECT_EQ(error_of([&] { static_cast<void>(client.look_at(name)); }),
                  errc::invalid_argument);
    }
    EXPECT_TRUE(client.mutex(std::string(250, 'x')).try_lock());
}

// --- several servers ---

class MemcachedServers : public testing::Test {
protected:
    std::string url(const std::string& parameters = "") const {
        return "memcached://" + first_.address() + "," + second_.address() + parameters;
    }
    /// One that is on that server.
    std::string name_on(const MemcachedServer& server) const {
        const Client client = connect(url());
        for (int i = 0;; ++i) {
            const std::string name = "orders/" + std::to_string(i);
            const Hold hold = client.mutex(name).acquire();
            if (server.command("touch holdfast/" + name + " 60") == "TOUCHED") return name;
        }
    }

    MemcachedServer first_;
    MemcachedServer second_;
};

TEST_F(MemcachedServers, EachNameIsOnOneOfThemForAllClients) {
    const Client ours = connect(url());
    const Client theirs = connect(url());
    std::vector<Hold> holds;
    for (int i = 0; i < 50; ++i) {
        const std::string name = std::to_string(i);
        holds.push_back(ours.mutex(name).acquire());
        EXPECT_FALSE(theirs.mutex(name).try_lock());
    }
    EXPECT_GT(first_.stat("curr_items"), 10U);
    EXPECT_GT(second_.stat("curr_items"), 10U);
    EXPECT_EQ(first_.stat("curr_items") + second_.stat("curr_items"), 50U);
}

TEST_F(MemcachedServers, OneThatStandsStillCostsTheHoldsOnTheOtherNothing) {
    const std::string there = name_on(first_);
    const std::string here = name_on(second_);
    const Client client = connect(url());
    auto kept = client.mutex(here, {.lease = 2s}).acquire();
    auto doomed = client.mutex(there, {.lease = 2s}).acquire();
    first_.pause();
    EXPECT_TRUE(await([&] { return doomed.lost().stop_requested(); }));
    EXPECT_FALSE(await([&] { return !kept.held(); }, 5s)) << "it is renewed all the while";
    first_.resume();
    EXPECT_EQ(kept.release(), Released::in_time);
}

TEST_F(MemcachedServers, OneThatIsDownKeepsNobodyFromTheOther) {
    const std::string there = name_on(first_);
    const std::string here = name_on(second_);
    first_.kill();
    const Client client = connect(url("?request_timeout=500ms&connect_timeout=500ms"));
    EXPECT_TRUE(client.mutex(here).try_lock());
    EXPECT_EQ(error_of([&] { client.mutex(there).lock(); }), errc::unreachable)
        << "no other server has its names meanwhile";
    second_.kill();
    EXPECT_EQ(error_of([&] { connect(url("?request_timeout=500ms")); }), errc::unreachable);
}

}  // namespace

}  // namespace holdfast::test
