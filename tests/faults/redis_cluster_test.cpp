#include <algorithm>
#include <array>
#include <set>

#include "faults/lying_servers.hpp"
#include "faults/redis_faults.hpp"
#include "servers/redis_cluster.hpp"
#include "stores/open_store.hpp"
#include "support/arena.hpp"
#include "support/contender.hpp"
#include "support/owners_waiting.hpp"
#include "support/soak.hpp"
#include "support/temporary_folder.hpp"

/// Locks in a cluster whose slots move, and whose masters are lost.
namespace holdfast::test {
namespace {

using Clock = std::chrono::steady_clock;

/// So long that a failover on a busy machine is over within it.
constexpr const char* patiently = "request_timeout=30s";

class RedisInACluster : public testing::Test {
protected:
    explicit RedisInACluster(const std::vector<std::string>& settings = {}) : cluster_(settings) {}

    Client client(const std::string& parameters = patiently, ClientOptions options = {}) const {
        return connect(cluster_.url(parameters), std::move(options));
    }
    /// The server that has the lock of this name.
    RedisServer& server_of(const std::string& name) {
        RedisServer* found = nullptr;
        EXPECT_TRUE(await([&] {
            for (std::size_t i = 0; i < RedisCluster::size; ++i) {
                RedisServer& one = cluster_.server(i);
                const auto role = ask_resp(one.port(), {"ROLE"});
                if (!role.value_or("").starts_with("[master")) continue;
                if (one.command({"KEYS", "*" + name + "*"}) != "[]") found = &one;
            }
            return found != nullptr;
        }));
        return *found;
    }
    std::string key_of(const std::string& name) {
        const std::string keys = server_of(name).command({"KEYS", "*" + name + "*"});
        return keys.substr(1, keys.find_first_of(",]") - 1);
    }
    RedisServer& another_master(const RedisServer& one) {
        for (std::size_t i = 0; i < RedisCluster::masters; ++i) {
            if (&cluster_.server(i) != &one) return cluster_.server(i);
        }
        throw std::logic_error("there is one master");
    }
    RedisServer& replica_of(const RedisServer& master) {
        for (std::size_t i = 0; i < RedisCluster::masters; ++i) {
            if (&cluster_.server(i) == &master) return cluster_.server(i + RedisCluster::masters);
        }
        throw std::logic_error("it is no master from the start");
    }
    /// As one does whose enter was not answered.
    void leave_a_tombstone(const std::string& name) {
        const auto store = open_store(cluster_.url(patiently)).store;
        const Wire::Interest serves = store->wire().interest();
        const Ticket unanswered{"holdfast/" + name, {{std::byte{1}}}, ""};
        EXPECT_TRUE(store->leave(unanswered).get().ok());
    }
    void await_in_step(const RedisServer& master) {
        const auto digest = [](const RedisServer& server) {
            return server.command({"DEBUG", "DIGEST"});
        };
        ASSERT_TRUE(await([&] { return digest(master) == digest(replica_of(master)); }));
    }

    template <class Lose>
    void expect_holder_and_waiter_to_go_on(Lose lose) {
        const auto counting = std::make_shared<Counting>();
        const Client ours = client(patiently, {.observer = counting});
        auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
        Acquiring waiting(ours, "orders", {.lease = long_lease});
        ASSERT_TRUE(await([&] { return waiters_of(ours, "orders") == 1; }));
        RedisServer& old = server_of("orders");
        await_in_step(old);
        lose(old);
        EXPECT_FALSE(client().mutex("orders").try_lock()) << "what it had is there still";
        EXPECT_TRUE(hold.held());
        EXPECT_EQ(hold.release(), Released::in_time);
        auto next = waiting.get();
        EXPECT_GT(next.fence(), hold.fence());
        EXPECT_EQ(next.release(), Released::in_time);
        EXPECT_EQ(counting->losses, 0);
    }

    RedisCluster cluster_;
};

TEST_F(RedisInACluster, LocksAreOnAllMastersAndListedFromAll) {
    const Client ours = client();
    std::vector<Hold> holds;
    std::set<int> ports;
    for (int i = 10; i < 30; ++i) {
        const std::string name = "orders/" + std::to_string(i);
        holds.push_back(ours.mutex(name, {.lease = long_lease}).acquire());
        ports.insert(server_of(name).port());
    }
    EXPECT_EQ(ports.size(), RedisCluster::masters);
    EXPECT_EQ(ours.inspect("orders/").size(), holds.size());
    EXPECT_EQ(ours.inspect("orders/17").at(0).holders.size(), 1U);
}

TEST_F(RedisInACluster, AWaiterIsWokenByAReleaseOnWhicheverNode) {
    const Client ours = client();
    const Client others = client();
    for (int i = 0; i < 12; ++i) {
        const std::string name = "orders/" + std::to_string(i);
        auto hold = others.mutex(name, {.lease = long_lease}).acquire();
        Acquiring waiting(ours, name, {.lease = long_lease});
        ASSERT_TRUE(await([&] { return waiters_of(others, name) == 1; }));
        const auto start = Clock::now();
        hold.release();
        waiting.get().release();
        // Far less than until it would look by itself.
        EXPECT_LT(Clock::now() - start, 1s) << name;
    }
}

TEST_F(RedisInACluster, AHolderAndAWaiterGoOnWhenTheirMasterIsKilled) {
    expect_holder_and_waiter_to_go_on([&](RedisServer& master) { master.kill(); });
}

TEST_F(RedisInACluster, AHolderAndAWaiterGoOnWhenTheirMasterOnlyStandsStill) {
    expect_holder_and_waiter_to_go_on([&](RedisServer& master) { master.pause(); });
}

TEST_F(RedisInACluster, AHolderAndAWaiterGoOnWhenAFailoverIsPlanned) {
    expect_holder_and_waiter_to_go_on([&](RedisServer& master) {
        RedisServer& replica = replica_of(master);
        EXPECT_EQ(replica.command({"CLUSTER", "FAILOVER"}), "OK");
        ASSERT_TRUE(await([&] { return replica.is_master(); }));
    });
}

TEST_F(RedisInACluster, AHolderAndAWaiterGoOnWhenTheirSlotMoves) {
    expect_holder_and_waiter_to_go_on(
        [&](RedisServer& from) { cluster_.move_slot(key_of("orders"), another_master(from)); });
}

TEST_F(RedisInACluster, AnOldMasterThatWasOnlyPausedServesNobodyWhenItGoesOn) {
    const Client ours = client();
    auto before = ours.mutex("orders", {.lease = long_lease}).acquire();
    RedisServer& old = server_of("orders");
    await_in_step(old);
    old.pause();
    EXPECT_EQ(before.release(), Released::in_time);
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    old.resume();
    EXPECT_FALSE(client().mutex("orders").try_lock());
    ASSERT_TRUE(await([&] { return old.is_replica(); }, 60s));
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_F(RedisInACluster, ASlotThatIsBeingMovedIsWaitedForAndNothingIsHalfDone) {
    const Client ours = client();
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    const int slot = cluster_.slot_of(key_of("orders"));
    RedisServer& from = cluster_.server_of_slot(slot);
    RedisServer& to = another_master(from);
    cluster_.begin_moving(slot, from, to);
    Acquiring waiting(ours, "orders", {.lease = long_lease});
    EXPECT_FALSE(waiting.is_over(200ms));
    cluster_.move_keys(slot, from, to);
    EXPECT_FALSE(waiting.is_over(200ms));
    cluster_.end_moving(slot, from, to);
    EXPECT_EQ(hold.release(), Released::in_time);
    waiting.get().release();
    EXPECT_TRUE(await([&] { return ours.inspect("orders").empty(); }));
}

TEST_F(RedisInACluster, ThoseWhoComeWhileTheirSlotIsBeingMovedStandInLineInTheirOrder) {
    const auto counting = std::make_shared<Counting>();
    const Client ours = client(patiently, {.observer = counting});
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    const int slot = cluster_.slot_of(key_of("orders"));
    RedisServer& from = cluster_.server_of_slot(slot);
    RedisServer& to = another_master(from);
    cluster_.begin_moving(slot, from, to);
    auto moving = std::async(std::launch::async, [&] {
        std::this_thread::sleep_for(100ms);
        cluster_.move_keys(slot, from, to);
        cluster_.end_moving(slot, from, to);
        std::this_thread::sleep_for(100ms);
    });
    std::stop_source stop;
    std::vector<std::string> owners;
    while (moving.wait_for(1ms) == std::future_status::timeout) {
        owners.push_back("owner " + std::to_string(owners.size()));
        ours.mutex("orders", {.lease = long_lease, .owner = owners.back()})
            .async_acquire([](const std::exception_ptr&, const Attempt&) {}, stop.get_token());
    }
    EXPECT_TRUE(await([&] { return counting->waits == static_cast<int>(owners.size()); }));
    EXPECT_EQ(owners_waiting(ours, "orders"), owners);
    stop.request_stop();
    hold.release();
}

TEST_F(RedisInACluster, ALineThatHasAllItsKeysIsNotHalfMovedOnWhileItsSlotIsBeingMoved) {
    const Client ours = client();
    auto permits = ours.semaphore("orders", 3, {.lease = long_lease});
    auto first = permits.acquire();
    auto second = permits.acquire();
    auto third = ours.semaphore("orders", 3, {.lease = long_lease});
    Acquiring waiting([&](const std::stop_token& stop) { return third.acquire(3, stop); });
    ASSERT_TRUE(await([&] { return waiters_of(ours, "orders") == 1; }));
    const std::string line = key_of("orders").substr(0, key_of("orders").find("orders") + 6);
    leave_a_tombstone("orders");
    const std::string keys = server_of("orders").command({"KEYS", line + "*"});
    ASSERT_EQ(std::ranges::count(keys, ','), 4) << "with its bucket's fence, all six: " << keys;
    const int slot = cluster_.slot_of(line);
    RedisServer& from = cluster_.server_of_slot(slot);
    RedisServer& to = another_master(from);
    cluster_.begin_moving(slot, from, to);
    auto releasing = std::async(std::launch::async, [&] { return first.release(); });
    EXPECT_EQ(releasing.wait_for(200ms), std::future_status::timeout);
    auto releasing_too = std::async(std::launch::async, [&] { return second.release(); });
    EXPECT_FALSE(waiting.is_over(200ms));
    cluster_.move_keys(slot, from, to);
    cluster_.end_moving(slot, from, to);
    EXPECT_EQ(releasing.get(), Released::in_time);
    EXPECT_EQ(releasing_too.get(), Released::in_time);
    waiting.get().release();
    EXPECT_TRUE(await([&] { return ours.inspect("orders").empty(); }));
}

/// A node learns of an epoch when it votes, and of who was elected by it after that.
TEST(RedisInALyingCluster, ANodeThatKnowsTheEpochAndNotWhoWasElectedIsNotFollowed) {
    const RedisServer deposed;
    RedisServer elected;
    LyingNode node({.master_port = elected.port(), .epoch = 7, .masters_epoch = 7});
    const Client ours = connect("redis+cluster://" + node.address() + "?" + patiently);
    ours.mutex("orders").acquire().release();
    node.say({.master_port = deposed.port(), .epoch = 7, .masters_epoch = 1});
    const int asked = node.questions();
    elected.pause();
    Acquiring acquiring(ours, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return node.questions() > asked; }));
    elected.resume();
    acquiring.get().release();
    EXPECT_EQ(deposed.command({"KEYS", "*"}), "[]");
}

TEST_F(RedisInACluster, ASlotThatNobodyServesIsTold) {
    for (std::size_t i = 0; i < RedisCluster::size; ++i) {
        cluster_.server(i).command({"CONFIG", "SET", "cluster-require-full-coverage", "no"});
    }
    const Client ours = client("request_timeout=1s");
    ours.mutex("orders").acquire().release();
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    const int slot = cluster_.slot_of(key_of("orders"));
    RedisServer& server = cluster_.server_of_slot(slot);
    hold.release();
    server.flush();
    for (std::size_t i = 0; i < RedisCluster::size; ++i) {
        cluster_.server(i).command({"CLUSTER", "DELSLOTS", std::to_string(slot)});
    }
    const Error error = error_of([&] { return ours.mutex("orders").acquire(); });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    EXPECT_EQ(server.command({"CLUSTER", "ADDSLOTS", std::to_string(slot)}), "OK");
    connect(cluster_.url(patiently)).mutex("orders").acquire().release();
}

/// One whose slots nobody serves is none that is down.
class RedisInAPartOfACluster : public RedisInACluster {
protected:
    RedisInAPartOfACluster() : RedisInACluster({"cluster-require-full-coverage no"}) {}
};

TEST_F(RedisInAPartOfACluster, AMasterThatIsLostForGoodCostsNobodyAHoldOnAnother) {
    const Client ours = client();
    const LockOptions short_lease{.lease = 3s};
    auto lost = ours.mutex("orders", short_lease).acquire();
    RedisServer& away = server_of("orders");
    std::vector<Hold> kept;
    for (int i = 0; kept.size() < 3; ++i) {
        const std::string name = "stock/" + std::to_string(i);
        Hold hold = ours.mutex(name, short_lease).acquire();
        if (&server_of(name) != &away) kept.push_back(std::move(hold));
    }
    replica_of(away).kill();
    away.kill();
    EXPECT_TRUE(await([&] { return !lost.held(); }));
    std::this_thread::sleep_for(*short_lease.lease);
    for (Hold& hold : kept) EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_F(RedisInACluster, SeveralLocksOverSeveralSlotsAreTakenOneAfterTheOther) {
    const Client ours = client();
    const std::vector<std::string> names{"a", "b", "c", "d", "e"};
    auto one = client().mutex("c", {.lease = long_lease}).acquire();
    auto all = std::async(std::launch::async, [&] { return ours.multi_lock(names).acquire(); });
    ASSERT_TRUE(await([&] { return waiters_of(ours, "c") == 1; }));
    EXPECT_TRUE(ours.inspect("d").empty()) << "nobody stands in a later line";
    one.release();
    all.get().release();
    EXPECT_TRUE(await([&] { return ours.inspect().empty(); }));
}

/// One in which no failover happens while the machine is busy: that may lose what was answered
/// last.
class RedisReshard : public RedisInACluster {
protected:
    RedisReshard() : RedisInACluster({"cluster-node-timeout 15000"}) {}
};

/// Slots back and forth under eight processes that count.
TEST_F(RedisReshard, ReshardingLosesNoHoldAndNoCount) {
    const auto time = std::chrono::seconds{rounds(5, 60)};
    const TemporaryFolder folder;
    const std::string arena_file = folder.path() / "arena";
    const SharedArena arena(arena_file);
    const Contenders contenders(cluster_.url(patiently));
    std::vector<Child> running;
    for (int i = 0; i < 8; ++i) running.push_back(contenders.busy("churn", arena_file, i));
    ASSERT_TRUE(await([&] { return arena->ready == 8; }));
    arena->go = true;
    const int slot = cluster_.slot_of(key_of("churn"));
    int moves = 0;
    for (const auto end = Clock::now() + time; Clock::now() < end; ++moves) {
        cluster_.move_slot(slot, another_master(cluster_.server_of_slot(slot)));
    }
    arena->stop = true;
    for (Child& child : running) EXPECT_TRUE(ended_well(child, 100s));
    std::uint64_t done = 0;
    for (const auto& corner : arena->corners) {
        done += corner.done;
        EXPECT_EQ(corner.errors, 0U) << corner.last_error.data();
    }
    EXPECT_EQ(arena->old_fences, 0);
    EXPECT_EQ(arena->meetings, 0);
    std::cout << done << " holds while the slot moved " << moves << " times\n";
    EXPECT_GT(done, 0U);
    EXPECT_GT(moves, 0);
}

}  // namespace
}  // namespace holdfast::test
