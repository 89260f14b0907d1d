#include <algorithm>
#include <atomic>
#include <thread>

#include "faults/redis_faults.hpp"
#include "servers/redis_cluster.hpp"
#include "support/contender.hpp"
#include "support/owners_waiting.hpp"

/// Our scripts as functions that a server keeps: how it gets them, and what becomes of holders and
/// waiters where it has lost them, may not have them, or has somebody else's.
namespace holdfast::test {
namespace {

/// All libraries of ours that the server has.
std::size_t libraries_of(const RedisServer& server) {
    const std::string all = server.command({"FUNCTION", "LIST"});
    std::size_t found = 0;
    for (std::size_t at = 0; (at = all.find("library_name, holdfast_", at)) != std::string::npos;) {
        ++found;
        ++at;
    }
    return found;
}

class RedisFunctions : public testing::TestWithParam<RedisLayout> {
protected:
    explicit RedisFunctions(RedisOptions options = {}) : server_(std::move(options)) {}

    std::string url() const { return server_.url() + GetParam().parameters(); }
    std::string url_of(const std::string& user) const {
        return "redis://" + user + ":secret@127.0.0.1:" + std::to_string(server_.port()) +
               GetParam().parameters();
    }
    Client client(ClientOptions options = {}) const { return connect(url(), std::move(options)); }
    void make_user(const Words& rights) const {
        Words words{"ACL", "SETUSER", "alice", "reset", "on", ">secret", "~*", "&*", "+@all"};
        words.insert(words.end(), rights.begin(), rights.end());
        ASSERT_EQ(server_.command(words), "OK");
    }
    void forget_everything() const {
        server_.command({"FUNCTION", "FLUSH"});
        server_.command({"SCRIPT", "FLUSH"});
    }

    /// One holds, another waits; `happen()`; then the first leaves, and the other one is let in.
    template <class Happen>
    void expect_holder_and_waiter_to_go_on(const std::string& url, Happen happen) const {
        const auto counting = std::make_shared<Counting>();
        const Client ours = connect(url, {.observer = counting});
        auto hold = ours.mutex("orders", {.lease = 3s}).acquire();
        Acquiring waiting(ours, "orders", {.lease = 3s});
        ASSERT_TRUE(await([&] { return counting->waits == 1; }));
        happen();
        // Over several renewals.
        EXPECT_FALSE(waiting.is_over(2500ms));
        EXPECT_TRUE(hold.held());
        EXPECT_EQ(hold.release(), Released::in_time);
        auto next = waiting.get();
        EXPECT_GT(next.fence(), hold.fence());
        EXPECT_EQ(next.release(), Released::in_time);
        EXPECT_EQ(counting->losses, 0);
    }

    RedisServer server_;
};
HOLDFAST_FOR_EACH_REDIS_LAYOUT(RedisFunctions);

TEST_P(RedisFunctions, AreGivenToAServerOnceForAllClients) {
    client().mutex("orders").acquire().release();
    EXPECT_EQ(libraries_of(server_), 2U) << "enter and leave";
    EXPECT_EQ(calls_of(server_, "function|load"), 2U);
    client().mutex("orders").acquire().release();
    EXPECT_EQ(calls_of(server_, "function|load"), 2U);
    EXPECT_EQ(calls_of(server_, "evalsha") + calls_of(server_, "eval"), 0U);
}

TEST_P(RedisFunctions, ThatAreFlushedComeBackByThemselves) {
    for (const Words& flush : {Words{"FUNCTION", "FLUSH"}, Words{"FUNCTION", "FLUSH", "ASYNC"},
                               Words{"SCRIPT", "FLUSH"}}) {
        SCOPED_TRACE(testing::PrintToString(flush));
        expect_holder_and_waiter_to_go_on(url(), [&] { server_.command(flush); });
        EXPECT_GE(libraries_of(server_), 2U);
    }
}

TEST_P(RedisFunctions, ThatAreFlushedOverAndOverCostNobodyAnything) {
    std::atomic<bool> over = false;
    std::atomic<int> taken = 0;
    const std::size_t before = calls_of(server_, "function|load");
    {
        const Client ours = client();
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i) {
            threads.emplace_back([&, i] {
                auto mutex = ours.mutex("orders/" + std::to_string(i % 4), {.lease = long_lease});
                while (!over) {
                    const Hold hold = mutex.acquire();
                    ++taken;
                }
            });
        }
        for (int i = 0; i < 50; ++i) {
            const int so_far = taken;
            EXPECT_TRUE(await([&] { return taken > so_far + 20; }));
            forget_everything();
        }
        over = true;
    }
    EXPECT_LT(calls_of(server_, "function|load") - before, 50U)
        << "a server that keeps forgetting is asked for scripts";
    expect_nobody_left(server_);
}

TEST_P(RedisFunctions, AreNotNeededByWhoMayNotCallThemOrGiveThem) {
    for (const Words& missing : {Words{"-fcall"}, Words{"-function"}, Words{"-function|load"},
                                 Words{"-fcall", "-function"}}) {
        SCOPED_TRACE(testing::PrintToString(missing));
        make_user(missing);
        expect_holder_and_waiter_to_go_on(url_of("alice"), [&] { forget_everything(); });
        EXPECT_EQ(libraries_of(server_), 0U);
        forget_everything();
    }
}

TEST_P(RedisFunctions, ThatAnotherUserHasGivenAreCalledByOneWhoMayNotGiveThem) {
    load_scripts(server_);
    make_user({"-function", "-eval", "-evalsha"});
    expect_holder_and_waiter_to_go_on(url_of("alice"), [] {});
}

TEST_P(RedisFunctions, AreDoneWithoutWhenTheRightIsTakenAwayMeanwhile) {
    make_user({});
    expect_holder_and_waiter_to_go_on(url_of("alice"), [&] { make_user({"-fcall"}); });
    make_user({});
    expect_holder_and_waiter_to_go_on(url_of("alice"), [&] {
        make_user({"-function"});
        forget_everything();
    });
}

TEST_P(RedisFunctions, AreGivenAlsoWhereAnotherLibraryHasTheirName) {
    const redis::Script enter(GetParam().enter);
    const std::string others = "#!lua name=" + enter.function() +
                               "\nredis.register_function('others', function() return 1 end)";
    ASSERT_EQ(server_.command({"FUNCTION", "LOAD", others}), enter.function());
    client().mutex("orders").acquire().release();
    EXPECT_EQ(calls_of(server_, "evalsha") + calls_of(server_, "eval"), 0U);
}

TEST_P(RedisFunctions, LeaveThoseOfAnotherVersionAlone) {
    const redis::Script older("return 'of another version'");
    ASSERT_EQ(server_.command({"FUNCTION", "LOAD", older.library()}), older.function());
    client().mutex("orders").acquire().release();
    EXPECT_EQ(server_.command({"FCALL", older.function(), "0"}), "of another version");
}

TEST_P(RedisFunctions, ThatAreSomebodyElsesAreToldOfAndGiveNobodyTheLock) {
    const redis::Script enter(GetParam().enter);
    const std::string others = "#!lua name=others\nredis.register_function('" + enter.function() +
                               "', function() return 1 end)";
    ASSERT_EQ(server_.command({"FUNCTION", "LOAD", others}), "others");
    const Error error = error_of([&] { return client().mutex("orders").acquire(); });
    EXPECT_EQ(error.code(), errc::corrupt) << error.what();
    expect_says(error, "what no script of ours does");
    server_.command({"FUNCTION", "DELETE", "others"});
    client().mutex("orders").acquire().release();
}

TEST_P(RedisFunctions, ThatThereIsNoMemoryForAreDoneWithoutByWhoIsThere) {
    expect_holder_and_waiter_to_go_on(url(), [&] {
        forget_everything();
        server_.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
        server_.command({"CONFIG", "SET", "maxmemory", "1"});
    });
    server_.command({"CONFIG", "SET", "maxmemory", "0"});
    client().mutex("orders").acquire().release();
    expect_nobody_left(server_);
}

TEST_P(RedisFunctions, ThatThereIsNoMemoryForAreNotWhatANewcomerIsTold) {
    server_.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
    server_.command({"CONFIG", "SET", "maxmemory", "1"});
    const Error error = error_of([&] { return client().mutex("orders").acquire(); });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    EXPECT_EQ(error.effect(), Effect::none);
    expect_says(error, "no memory left for new locks");
}

TEST_P(RedisFunctions, ThatAReplicaDoesNotHaveAreGivenToItWhenItIsTheMaster) {
    const Client ours = client();
    ours.mutex("others").acquire().release();
    forget_everything();
    server_.command({"REPLICAOF", "127.0.0.1", "1"});
    Acquiring acquiring(ours, "orders", {.lease = long_lease});
    EXPECT_FALSE(acquiring.is_over(500ms));
    server_.command({"REPLICAOF", "NO", "ONE"});
    EXPECT_EQ(acquiring.get().release(), Released::in_time);
}

TEST_P(RedisFunctions, ThatAServerMayNotTakeForWantOfReplicasAreNotWhatIsTold) {
    server_.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
    const Error error = error_of([&] { return client().mutex("orders").acquire(); });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    expect_says(error, "without enough replicas");
    server_.command({"CONFIG", "SET", "min-replicas-to-write", "0"});
    client().mutex("orders").acquire().release();
}

/// Requests that overlap go by a script of their own, which this server does not know yet, and the
/// last of them is alone again.
TEST(RedisFunctionsOfALine, ThatHaveToBeGivenFirstLetNobodyPassWhoCameEarlier) {
    constexpr int count = 36;
    RedisServer server;
    const auto counting = std::make_shared<Counting>();
    const Client ours = connect(server.url(), {.observer = counting});
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    Acquiring first(ours, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return counting->waits == 1; }));
    server.pause();
    std::stop_source stop;
    std::vector<std::string> owners;
    for (int i = 0; i < count; ++i) {
        owners.push_back("owner " + std::to_string(i));
        ours.mutex("orders", {.lease = long_lease, .owner = owners.back()})
            .async_acquire([](const std::exception_ptr&, const Attempt&) {}, stop.get_token());
    }
    server.resume();
    ASSERT_TRUE(await([&] { return counting->waits == count + 1; }));
    auto in_line = owners_waiting(ours, "orders");
    in_line.erase(in_line.begin());
    EXPECT_EQ(in_line, owners);
    stop.request_stop();
    hold.release();
}

/// A server whose data outlive a crash: its locks, and the functions with them.
class RedisFunctionsOnDisk : public RedisFunctions {
protected:
    RedisFunctionsOnDisk()
        : RedisFunctions({.settings = {"appendonly yes", "appendfsync always"}}) {}
};
HOLDFAST_FOR_EACH_REDIS_LAYOUT(RedisFunctionsOnDisk);

TEST_P(RedisFunctionsOnDisk, AreStillThereAfterARestart) {
    expect_holder_and_waiter_to_go_on(url(), [&] {
        server_.kill();
        server_.restart();
        EXPECT_GE(libraries_of(server_), 1U);
    });
}

TEST_P(RedisFunctionsOnDisk, ThatWereFlushedBeforeARestartComeBackByThemselves) {
    expect_holder_and_waiter_to_go_on(url(), [&] {
        forget_everything();
        server_.kill();
        server_.restart();
    });
}

// --- a cluster ---

class RedisFunctionsInACluster : public testing::Test {
protected:
    std::string url() const { return cluster_.url("request_timeout=30s"); }
    void forget_everywhere() {
        for (std::size_t i = 0; i < RedisCluster::masters; ++i) {
            cluster_.server(i).command({"FUNCTION", "FLUSH"});
            cluster_.server(i).command({"SCRIPT", "FLUSH"});
        }
    }
    void use_all_masters(const Client& client) {
        for (int i = 0; i < 20; ++i) {
            client.mutex("orders/" + std::to_string(i)).acquire().release();
        }
    }
    RedisCluster cluster_;
};

TEST_F(RedisFunctionsInACluster, AreGivenToEachMasterThatDoesNotHaveThem) {
    const Client ours = connect(url());
    for (int round = 0; round < 2; ++round) {
        forget_everywhere();
        use_all_masters(ours);
        for (std::size_t i = 0; i < RedisCluster::masters; ++i) {
            EXPECT_EQ(libraries_of(cluster_.server(i)), 2U) << i;
        }
        // So soon after the last time they would be done without.
        std::this_thread::sleep_for(1100ms);
    }
}

TEST_F(RedisFunctionsInACluster, AreWithTheReplicaThatIsPromoted) {
    const Client ours = connect(url());
    use_all_masters(ours);
    RedisServer& replica = cluster_.server(RedisCluster::masters);
    ASSERT_TRUE(await([&] { return libraries_of(replica) == 2U; }));
    auto hold = ours.mutex("held", {.lease = long_lease}).acquire();
    ASSERT_EQ(replica.command({"CLUSTER", "FAILOVER"}), "OK");
    ASSERT_TRUE(await([&] { return replica.is_master(); }));
    use_all_masters(ours);
    EXPECT_EQ(calls_of(replica, "eval") + calls_of(replica, "evalsha"), 0U);
    EXPECT_EQ(hold.release(), Released::in_time);
}

}  // namespace
}  // namespace holdfast::test
