#include <holdfast/stores.hpp>

#include "contract/stores.hpp"
#include "servers/etcd_cluster.hpp"
#include "servers/etcd_server.hpp"
#include "servers/mariadb_server.hpp"
#include "servers/memcached_server.hpp"
#include "servers/postgres_server.hpp"
#include "servers/redis_nodes.hpp"
#include "servers/redis_server.hpp"
#include "servers/zookeeper_ensemble.hpp"
#include "servers/zookeeper_server.hpp"
#include "support/suite.hpp"

/// What `holdfast stores` prints of a server that fails is so: exclusion survives it, or does not.
namespace holdfast::test {

namespace {

Capabilities promised(std::string_view name) {
    const auto rows = ::holdfast::stores();
    return std::ranges::find(rows, name, &StoreInfo::name)->can;
}

/// As long as the store grants, and longer than any restart.
[[maybe_unused]] LockOptions long_lived(const Client& client) {
    return {.lease = client.usual_lease()};
}

[[maybe_unused]] bool is_held(const std::string& url) {
    const Attempt attempt = connect(url).mutex("orders").try_acquire();
    return !attempt;
}

/// Whether a hold keeps others out after the server has crashed and is back.
template <class Server>
bool survives_a_crash(Server server) {
    const std::string url = server->url() + "?request_timeout=30s";
    const Client client = connect(url);
    const Hold hold = client.mutex("orders", long_lived(client)).acquire();
    server->kill();
    server->restart();
    return is_held(url);
}

#ifdef HOLDFAST_STORE_REDIS
TEST(PromisedSurvival, OfACrashOnRedisIsAMatterOfItsSettings) {
    EXPECT_FALSE(survives_a_crash(std::make_unique<RedisServer>()));
    EXPECT_TRUE(survives_a_crash(std::make_unique<RedisServer>(
        RedisOptions{.settings = {"appendonly yes", "appendfsync always"}})));
    for (const char* name : {"redis", "redis+cluster", "redis+sentinel", "redis?layout=plain",
                             "redis?layout=redisson"}) {
        EXPECT_EQ(promised(name).survives_restart, Survival::if_set_up) << name;
    }
}
#endif

#ifdef HOLDFAST_STORE_REDLOCK
/// They come back as another server would that takes their place: with nothing.
TEST(PromisedSurvival, OfTheCrashOfTwoOfFiveOnRedlock) {
    RedisNodes nodes;
    const Client client = connect(nodes.url());
    const Hold hold = client.mutex("orders", long_lived(client)).acquire();
    for (const std::size_t index : {0U, 1U}) {
        nodes.node(index).kill();
        nodes.node(index).restart();
    }
    EXPECT_TRUE(is_held(nodes.url()));
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(promised("redlock").survives_restart, Survival::yes);
    EXPECT_EQ(promised("redlock").survives_failover, Survival::yes);
}
#endif

#ifdef HOLDFAST_STORE_MEMCACHED
TEST(PromisedSurvival, OfACrashThereIsNoneOnMemcached) {
    EXPECT_FALSE(survives_a_crash(std::make_unique<MemcachedServer>()));
    EXPECT_EQ(promised("memcached").survives_restart, Survival::no);
    EXPECT_EQ(promised("memcached").survives_failover, Survival::no);
}
#endif

#ifdef HOLDFAST_STORE_POSTGRES
/// Whether who holds on a server is known to the replica that takes its place.
bool survives_a_failover(PostgresServer& master, const PostgresServer& replica) {
    // So long giving back will be tried, of a server that is gone.
    const Client client = connect(master.url() + "?request_timeout=2s");
    const Hold hold = client.mutex("orders", long_lived(client)).acquire();
    master.kill();
    replica.resume();
    replica.promote();
    return is_held(replica.url() + "?request_timeout=30s");
}

TEST(PromisedSurvival, OfAFailoverOnPostgresIsAMatterOfItsSettings) {
    for (const bool waits : {true, false}) {
        PostgresServer master;
        master.let_replicas_in();
        connect(master.url()).mutex("orders").acquire().release();
        const PostgresServer replica({.replica_of = &master});
        ASSERT_TRUE(await(
            [&] { return master.query("SELECT state FROM pg_stat_replication") == "streaming"; }));
        if (waits) {
            master.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
            master.query("SELECT pg_reload_conf()");
            ASSERT_TRUE(await([&] {
                return master.query("SELECT sync_state FROM pg_stat_replication") == "sync";
            }));
        } else {
            replica.pause();
            // What is in a socket would still come.
            master.query("SELECT pg_terminate_backend(pid) FROM pg_stat_replication");
        }
        EXPECT_EQ(survives_a_failover(master, replica), waits);
    }
    EXPECT_EQ(promised("postgres").survives_failover, Survival::if_set_up);
}

TEST(PromisedSurvival, OfACrashOnPostgres) {
    EXPECT_TRUE(survives_a_crash(std::make_unique<PostgresServer>()));
    EXPECT_EQ(promised("postgres").survives_restart, Survival::yes);
}
#endif

#ifdef HOLDFAST_STORE_MYSQL
TEST(PromisedSurvival, OfACrashOnMysql) {
    EXPECT_TRUE(survives_a_crash(std::make_unique<MariadbServer>()));
    EXPECT_EQ(promised("mysql").survives_restart, Survival::yes);
}
#endif

#ifdef HOLDFAST_STORE_ZOOKEEPER
TEST(PromisedSurvival, OfACrashOnZookeeper) {
    EXPECT_TRUE(survives_a_crash(std::make_unique<ZookeeperServer>()));
    EXPECT_EQ(promised("zookeeper").survives_restart, Survival::yes);
}
#endif

#ifdef HOLDFAST_STORE_ETCD
TEST(PromisedSurvival, OfACrashOnEtcd) {
    EXPECT_TRUE(survives_a_crash(std::make_unique<EtcdServer>()));
    EXPECT_EQ(promised("etcd").survives_restart, Survival::yes);
}
#endif

// --- of three, the one that leads fails ---

// What a failover of Redis forgets, and what it does not where replicas have confirmed it, has
// tests of its own: tests/faults/redis_replicas_test.cpp.

struct Three {
    std::string name;
    std::string row;
    bool (*survives)();
};

void PrintTo(const Three& three, std::ostream* out) {
    *out << three.name;
}

template <class Servers>
[[maybe_unused]] bool survives_its_leaders_end() {
    Servers servers;
    const std::string url = servers.url() + "?request_timeout=30s";
    const Client client = connect(url);
    const Hold hold = client.mutex("orders", long_lived(client)).acquire();
    servers.leader().kill();
    static_cast<void>(servers.leader());
    return is_held(url) && hold.held();
}

class PromisedFailover : public testing::TestWithParam<Three> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PromisedFailover);
INSTANTIATE_TEST_SUITE_P(OfThree, PromisedFailover,
                         testing::ValuesIn(std::vector<Three>{
#ifdef HOLDFAST_STORE_ZOOKEEPER
                             {"zookeeper3", "zookeeper",
                              survives_its_leaders_end<ZookeeperEnsemble>},
#endif
#ifdef HOLDFAST_STORE_ETCD
                             {"etcd3", "etcd", survives_its_leaders_end<EtcdCluster>},
#endif
                         }),
                         [](const auto& about) { return about.param.name; });

TEST_P(PromisedFailover, KeepsOthersOut) {
    EXPECT_TRUE(GetParam().survives());
    EXPECT_EQ(promised(GetParam().row).survives_failover, Survival::yes);
}

}  // namespace

}  // namespace holdfast::test
