#include <fstream>
#include <future>

#include "faults/lying_servers.hpp"
#include "faults/redis_faults.hpp"
#include "servers/redis_sentinels.hpp"
#include "support/contender.hpp"
#include "support/soak.hpp"
#include "support/temporary_folder.hpp"

/// A master that is lost while locks are held and waited for, and what its sentinels say of it.
namespace holdfast::test {
namespace {

using Clock = std::chrono::steady_clock;

/// So long that a failover on a busy machine is over within it.
constexpr const char* patiently = "request_timeout=30s";

class RedisFailover : public testing::Test {
protected:
    Client client(const std::string& parameters = patiently, ClientOptions options = {}) const {
        return connect(sentinels_.url(parameters), std::move(options));
    }
    /// Nothing that was answered can be lost by a failover any more.
    void await_in_step() {
        const auto digest = [](const RedisServer& server) {
            return server.command({"DEBUG", "DIGEST"});
        };
        RedisServer& master = sentinels_.master();
        ASSERT_TRUE(await([&] {
            for (std::size_t i = 0; i < RedisSentinels::size; ++i) {
                RedisServer& one = sentinels_.server(i);
                if (one.runs() && digest(one) != digest(master)) return false;
            }
            return true;
        }));
    }
    /// A hold, and one who waits for it, when the master is lost by `lose(master)`.
    template <class Lose>
    void expect_holder_and_waiter_to_go_on(Lose lose) {
        const auto counting = std::make_shared<Counting>();
        const Client ours = client(patiently, {.observer = counting});
        auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
        Acquiring waiting(ours, "orders", {.lease = long_lease});
        ASSERT_TRUE(await([&] { return waiters_of(ours, "orders") == 1; }));
        await_in_step();
        RedisServer& old = sentinels_.master();
        lose(old);
        EXPECT_FALSE(client().mutex("orders").try_lock()) << "what it had is there still";
        EXPECT_NE(&sentinels_.master(), &old);
        EXPECT_TRUE(hold.held());
        EXPECT_EQ(hold.release(), Released::in_time);
        auto next = waiting.get();
        EXPECT_GT(next.fence(), hold.fence());
        EXPECT_EQ(next.release(), Released::in_time);
        EXPECT_EQ(counting->losses, 0);
    }

    RedisSentinels sentinels_;
};

TEST_F(RedisFailover, AHolderAndAWaiterGoOnWhenTheMasterIsKilled) {
    expect_holder_and_waiter_to_go_on([&](RedisServer& master) { master.kill(); });
}

TEST_F(RedisFailover, AHolderAndAWaiterGoOnWhenTheMasterOnlyStandsStill) {
    expect_holder_and_waiter_to_go_on([&](RedisServer& master) { master.pause(); });
}

TEST_F(RedisFailover, AHolderAndAWaiterGoOnWhenItIsPlanned) {
    expect_holder_and_waiter_to_go_on([&](RedisServer&) { sentinels_.fail_over(); });
}

TEST_F(RedisFailover, AHoldThatTheNewMasterDoesNotHaveIsToldAsLost) {
    const Client ours = client();
    auto hold = ours.mutex("orders", {.lease = 3s}).acquire();
    await_in_step();
    RedisServer& old = sentinels_.master();
    old.kill();
    sentinels_.await_failover_from(old);
    sentinels_.master().flush();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_EQ(hold.loss(), Loss::ended);
}

/// One who was served by the old master, and is still when that comes back.
TEST_F(RedisFailover, AnOldMasterThatWasOnlyPausedServesNobodyWhenItGoesOn) {
    const Client ours = client();
    auto before = ours.mutex("orders", {.lease = long_lease}).acquire();
    await_in_step();
    RedisServer& old = sentinels_.master();
    old.pause();
    sentinels_.await_failover_from(old);
    EXPECT_EQ(before.release(), Released::in_time);
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    EXPECT_GT(hold.fence(), before.fence());
    old.resume();
    // It believes to be the master, and to hold `before`, until a sentinel tells it.
    EXPECT_FALSE(client().mutex("orders").try_lock());
    EXPECT_EQ(ours.inspect("orders").at(0).holders.at(0).fence, hold.fence());
    ASSERT_TRUE(await([&] { return old.is_replica(); }, 60s));
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(hold.release(), Released::in_time);
}

/// Its socket has the news already when its owner looks again.
TEST_F(RedisFailover, WhoLookedAwayMeanwhileDoesNotBelieveAnOldMasterThatGoesOn) {
    const Client ours = client();
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    ASSERT_TRUE(await([&] {
        ours.mutex("invoices").acquire().release();
        return sentinels_.sentinel(0).command({"CLIENT", "LIST"}).find("name=holdfast") !=
               std::string::npos;
    }));
    await_in_step();
    RedisServer& old = sentinels_.master();
    old.pause();
    sentinels_.await_failover_from(old);
    sentinels_.master().flush();
    old.resume();
    EXPECT_NE(hold.release(), Released::in_time) << "the old master would say so";
}

/// Its news was lost with the connections, before anybody looked.
TEST_F(RedisFailover, WhoseConnectionsToTheSentinelsBrokeMeanwhileDoesNotBelieveAnOldMaster) {
    const Client ours = client();
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    const auto listeners = [&](std::size_t i) {
        return sentinels_.sentinel(i).command({"CLIENT", "LIST", "TYPE", "pubsub"});
    };
    ASSERT_TRUE(await([&] {
        ours.mutex("invoices").acquire().release();
        return !listeners(0).empty() && !listeners(1).empty() && !listeners(2).empty();
    }));
    for (std::size_t i = 0; i < RedisSentinels::size; ++i) {
        EXPECT_EQ(sentinels_.sentinel(i).command({"CLIENT", "KILL", "TYPE", "pubsub"}), "1");
    }
    await_in_step();
    RedisServer& old = sentinels_.master();
    old.pause();
    sentinels_.await_failover_from(old);
    sentinels_.master().flush();
    old.resume();
    ASSERT_TRUE(await([&] { return old.command({"ROLE"}).starts_with("[master"); }));
    EXPECT_NE(hold.release(), Released::in_time) << "the old master would say so";
}

TEST_F(RedisFailover, AnOldMasterThatComesBackIsNotTakenForTheMaster) {
    const Client ours = client();
    RedisServer& old = sentinels_.master();
    old.kill();
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    old.restart();
    EXPECT_FALSE(client().mutex("orders").try_lock());
    ASSERT_TRUE(await([&] { return old.is_replica(); }, 60s));
    EXPECT_FALSE(client().mutex("orders").try_lock());
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_F(RedisFailover, ASentinelThatNamesAnOldMasterIsOutvotedByTheEpoch) {
    RedisServer& old = sentinels_.master();
    const LyingSentinel liar(old.port(), 0);
    old.kill();
    sentinels_.await_failover_from(old);
    old.restart();
    const auto servers = liar.address() + "," + sentinels_.sentinel(0).address() + "," +
                         sentinels_.sentinel(1).address();
    const Client ours = connect(sentinels_.url_at(servers, patiently));
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    EXPECT_FALSE(client().mutex("orders").try_lock()) << "they are at the same master";
    EXPECT_GT(liar.questions(), 0);
}

TEST_F(RedisFailover, NobodyGoesBackToAnOlderEpochThoughTheOnlySentinelLeftSaysSo) {
    RedisServer& old = sentinels_.master();
    const LyingSentinel liar(old.port(), 0);
    const auto servers = liar.address() + "," + sentinels_.sentinel(0).address() + "," +
                         sentinels_.sentinel(1).address();
    sentinels_.fail_over();
    const Client ours = connect(sentinels_.url_at(servers, "request_timeout=2s"));
    ours.mutex("orders").acquire().release();
    for (std::size_t i = 0; i < RedisSentinels::size; ++i) sentinels_.sentinel(i).kill();
    for (std::size_t i = 0; i < RedisSentinels::size; ++i) {
        if (&sentinels_.server(i) != &old) sentinels_.server(i).kill();
    }
    old.command({"REPLICAOF", "NO", "ONE"});
    const int asked = liar.questions();
    const Error error = error_of([&] { return ours.mutex("orders").acquire(); });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    EXPECT_GT(liar.questions(), asked);
    EXPECT_EQ(old.command({"KEYS", "{holdfast/later*"}), "[]");
}

/// So that nobody knows what came meanwhile.
void look_away() {
    const Moment looked = BootClock::now();
    EXPECT_TRUE(await([&] { return BootClock::now() > looked + 3s; }));
}
/// As soon as that one is heard the client asks whether it is too late for something.
void await_heard(const Client& ours, const LyingSentinel& sentinel) {
    EXPECT_TRUE(await([&] {
        ours.mutex("orders").acquire().release();
        return sentinel.is_followed();
    }));
    for (int i = 0; i < 50; ++i) ours.mutex("orders").acquire().release();
}
bool serves(const RedisServer& server, const Client& ours, const std::string& name) {
    auto hold = ours.mutex(name, {.lease = long_lease}).acquire();
    return server.command({"KEYS", "*" + name}) != "[]";
}

/// A client that hears two sentinels, one of them through a network that fails, and looks away.
class RedisSwitchUnheard : public testing::Test {
protected:
    RedisSwitchUnheard() {
        await_heard(ours_, sentinel_);
        await_heard(ours_, another_);
    }

    const RedisServer deposed_;
    const RedisServer promoted_;
    LyingSentinel sentinel_{deposed_.port(), 5};
    LyingSentinel another_{deposed_.port(), 5};
    FaultProxy proxy_{another_.port()};
    const Client ours_ = connect("redis+sentinel://" + sentinel_.address() + ",127.0.0.1:" +
                                 std::to_string(proxy_.port()) + "/mymaster?request_timeout=20s");
};

/// Nothing comes by it any more, and nothing says so.
TEST_F(RedisSwitchUnheard, IsAskedForWhenAConnectionIsDead) {
    proxy_.black_hole();
    sentinel_.say(promoted_.port(), 6);
    look_away();
    EXPECT_TRUE(serves(promoted_, ours_, "stock"));
}

TEST_F(RedisSwitchUnheard, IsAskedForThoughADeadConnectionHasBroughtSomethingBefore) {
    const std::size_t before = proxy_.bytes_from_server();
    another_.tell_of_anothers_switch();
    ASSERT_TRUE(await([&] { return proxy_.bytes_from_server() > before; }));
    proxy_.black_hole();
    sentinel_.say(promoted_.port(), 6);
    look_away();
    EXPECT_TRUE(serves(promoted_, ours_, "stock"));
}

TEST(RedisSwitch, IsAskedForAgainThoughASignOfLifeThatWasAskedForNeverCame) {
    const RedisServer deposed;
    const RedisServer promoted;
    LyingSentinel sentinel(deposed.port(), 5);
    FaultProxy proxy(sentinel.port());
    const Client ours = connect("redis+sentinel://127.0.0.1:" + std::to_string(proxy.port()) +
                                "/mymaster?request_timeout=20s");
    await_heard(ours, sentinel);
    proxy.on_request([](std::string_view request) {
        return words_of(request).front() == "PING" ? Verdict::hold : Verdict::pass;
    });
    look_away();
    EXPECT_TRUE(serves(deposed, ours, "invoices"));
    sentinel.say(promoted.port(), 6);
    look_away();
    EXPECT_TRUE(serves(promoted, ours, "stock"));
}

/// Those to the master are made sooner, and then nobody sees to it.
TEST(RedisSwitch, IsAskedForThoughNoConnectionThatWouldTellOfItWasEverMade) {
    const RedisServer deposed;
    const RedisServer promoted;
    LyingSentinel sentinel(deposed.port(), 5);
    FaultProxy proxy(sentinel.port());
    proxy.delay_replies(50ms);
    const Client ours = connect("redis+sentinel://127.0.0.1:" + std::to_string(proxy.port()) +
                                "/mymaster?request_timeout=20s");
    sentinel.say(promoted.port(), 6);
    look_away();
    EXPECT_TRUE(serves(promoted, ours, "stock"));
}

/// The sentinels learn of a switch one after the other: who has heard of it does not believe those
/// that have not.
TEST(RedisSwitch, AMasterThatWasDeposedIsNotGoneBackToThoughASentinelStillNamesIt) {
    const RedisServer deposed;
    const RedisServer promoted;
    const LyingSentinel behind(deposed.port(), 5);
    LyingSentinel sentinel(deposed.port(), 5);
    const Client ours = connect("redis+sentinel://" + sentinel.address() + "," + behind.address() +
                                "/mymaster?request_timeout=1s");
    ours.mutex("orders").acquire().release();
    // It tells, and has no time to answer.
    sentinel.say_nothing();
    sentinel.tell_of_switch(deposed.port(), promoted.port());
    ASSERT_TRUE(await([&] { return sentinel.has_told(); }));
    // It may be sent before the news is read; what comes of it is not.
    const Error error = error_of([&] { return ours.mutex("stock").acquire(); });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    sentinel.say(promoted.port(), 6);
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    EXPECT_TRUE(connect(deposed.url()).inspect("orders").empty());
    EXPECT_EQ(connect(promoted.url()).inspect("orders").size(), 1U);
    // It may be promoted again.
    sentinel.say(deposed.port(), 7);
    sentinel.tell_of_switch(promoted.port(), deposed.port());
    ASSERT_TRUE(await([&] { return sentinel.has_told(); }));
    ours.mutex("invoices").acquire().release();
}

/// Its connection ended before it told that this was undone.
TEST(RedisSwitch, TheMasterIsServedByAtOnceThoughASentinelThatNamesItToldOfASwitchAwayFromIt) {
    const RedisServer master;
    const RedisServer another;
    LyingSentinel sentinel(master.port(), 7);
    LyingSentinel late(master.port(), 7);
    const Client ours = connect("redis+sentinel://" + sentinel.address() + "," + late.address() +
                                "/mymaster?request_timeout=30s");
    ours.mutex("orders").acquire().release();
    late.tell_of_switch(master.port(), another.port());
    ASSERT_TRUE(await([&] { return late.has_told(); }));
    const Moment told = BootClock::now();
    ours.mutex("orders").acquire().release();
    EXPECT_LT(BootClock::now() - told, 5s) << "it is asked, and names the master";
}

/// One that was cut off tells, as soon as it is back, what has long been undone; and perhaps
/// nothing more.
TEST(RedisSwitch, TheMasterIsServedByThoughASentinelTellsLateOfASwitchAwayFromItAndDies) {
    const RedisServer master;
    const RedisServer another;
    LyingSentinel sentinel(master.port(), 7);
    auto late = std::make_unique<LyingSentinel>(master.port(), 5);
    const Client ours = connect("redis+sentinel://" + sentinel.address() + "," + late->address() +
                                "/mymaster?request_timeout=30s");
    ours.mutex("orders").acquire().release();
    late->say(another.port(), 6);
    late->tell_of_switch(master.port(), another.port());
    ASSERT_TRUE(await([&] { return late->has_told(); }));
    const Moment told = BootClock::now();
    ours.mutex("orders").acquire().release();
    EXPECT_LT(BootClock::now() - told, 5s) << "it is asked, and says by which epoch";
    late->tell_of_switch(master.port(), another.port());
    ASSERT_TRUE(await([&] { return late->has_told(); }));
    late.reset();
    ours.mutex("orders").acquire().release();
    EXPECT_EQ(another.command({"KEYS", "*"}), "[]");
}

TEST(RedisSwitch, OfSeveralMastersThatWereDeposedNoneIsGoneBackTo) {
    const RedisServer first;
    const RedisServer second;
    LyingSentinel behind(first.port(), 5);
    LyingSentinel sentinel(first.port(), 5);
    const Client ours = connect("redis+sentinel://" + sentinel.address() + "," + behind.address() +
                                "/mymaster?request_timeout=1s");
    ours.mutex("orders").acquire().release();
    sentinel.say_nothing();
    for (const auto& [from, to] :
         {std::pair{first.port(), second.port()}, std::pair{second.port(), second.port() - 1}}) {
        sentinel.tell_of_switch(from, to);
        ASSERT_TRUE(await([&] { return sentinel.has_told(); }));
    }
    // It may be sent before the news is read.
    ASSERT_TRUE(await([&] {
        try {
            ours.mutex("stock").acquire().release();
        } catch (const Error&) {
            return true;
        }
        return false;
    }));
    const Error error = error_of([&] { return ours.mutex("later").acquire(); });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    EXPECT_EQ(first.command({"KEYS", "*later*"}), "[]");
}

/// What a sentinel told while it was not heard is asked for until somebody answers.
TEST(RedisSwitch, IsFoundOutThoughNoSentinelHasTimeForTheFirstQuestionsAboutIt) {
    const RedisServer deposed;
    const RedisServer promoted;
    LyingSentinel sentinel(deposed.port(), 5);
    FaultProxy proxy(sentinel.port());
    const Client ours = connect("redis+sentinel://127.0.0.1:" + std::to_string(proxy.port()) +
                                "/mymaster?request_timeout=10s");
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    Acquiring waiting(ours, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return waiters_of(ours, "orders") == 1; }));
    sentinel.say_nothing();
    const int asked = sentinel.questions();
    proxy.cut();
    ASSERT_TRUE(await([&] { return sentinel.questions() > asked; }));
    sentinel.say(promoted.port(), 6);
    ASSERT_TRUE(waiting.is_over(patience)) << "nobody holds there";
    EXPECT_NE(promoted.command({"KEYS", "*orders"}), "[]");
    waiting.get().release();
}

TEST_F(RedisFailover, WithoutAnySentinelTheMasterIsUsedOnAndNewcomersAreTold) {
    const Client ours = client();
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    for (std::size_t i = 0; i < RedisSentinels::size; ++i) sentinels_.sentinel(i).kill();
    ours.mutex("invoices").acquire().release();
    EXPECT_EQ(hold.release(), Released::in_time);
    const auto start = Clock::now();
    const Error error = error_of([&] { return client("request_timeout=500ms"); });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    expect_says(error, "sentinel 127.0.0.1:");
    EXPECT_LT(Clock::now() - start, 3s);
}

TEST_F(RedisFailover, ASilentlyDeadConnectionToASentinelIsMadeAnew) {
    FaultProxy proxy(sentinels_.sentinel(0).port());
    const Client ours = connect(
        sentinels_.url_at("127.0.0.1:" + std::to_string(proxy.port()), "request_timeout=1s"));
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    // One that waits, so that somebody listens.
    Acquiring waiting(ours, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return waiters_of(ours, "orders") == 1; }));
    const std::size_t before = proxy.connections();
    proxy.black_hole();
    EXPECT_TRUE(proxy.await_connections(before + 1));
    proxy.pass();
    EXPECT_EQ(hold.release(), Released::in_time);
    waiting.get().release();
}

TEST_F(RedisFailover, AMasterThatTheSentinelsDoNotKnowIsToldAtOnce) {
    std::string url = sentinels_.url(patiently);
    url.replace(url.find("mymaster"), 8, "another1");
    const auto start = Clock::now();
    const Error error = error_of([&] { return connect(url); });
    EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
    expect_says(error, "know no master of this name");
    EXPECT_LT(Clock::now() - start, 5s);
}

/// From the moment that a replica is the master until somebody is admitted by it.
TEST_F(RedisFailover, IsFollowedByAnAdmissionWithinASecond) {
    const int times = rounds(3, 20);
    std::vector<std::chrono::milliseconds> took;
    const Client ours = client();
    for (int i = 0; i < times; ++i) {
        sentinels_.await_whole();
        RedisServer& old = sentinels_.master();
        old.kill();
        auto admitted = std::async(std::launch::async, [&] {
            ours.mutex("orders").acquire().release();
            return Clock::now();
        });
        Clock::time_point promoted;
        ASSERT_TRUE(await(
            [&] {
                for (std::size_t one = 0; one < RedisSentinels::size; ++one) {
                    RedisServer& server = sentinels_.server(one);
                    const auto role = ask_resp(server.port(), {"ROLE"});
                    if (!role.value_or("").starts_with("[master")) continue;
                    promoted = Clock::now();
                    return true;
                }
                return false;
            },
            60s));
        took.push_back(
            std::chrono::duration_cast<std::chrono::milliseconds>(admitted.get() - promoted));
        old.restart();
    }
    std::ranges::sort(took);
    const auto median = took[took.size() / 2];
    std::cout << "from the promotion to the next admission: " << median.count() << " ms (p50 of "
              << times << "), " << took.back().count() << " ms at most\n";
    EXPECT_LE(median, 1s);
}

TEST(RedisSentinelPasswords, AreThoseOfTheServersAndThoseOfTheSentinels) {
    RedisSentinels sentinels({.password = "secret", .sentinel_password = "hidden"});
    const TemporaryFolder folder;
    const std::string file = folder.path() / "password";
    std::ofstream(file) << "hidden\n";
    connect(sentinels.url("sentinel_password_file=" + file)).mutex("orders").acquire().release();
    const Error error = error_of([&] { return connect(sentinels.url()); });
    EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
    expect_says(error, "password");
}

}  // namespace
}  // namespace holdfast::test
