#include "contract/stores.hpp"

#include <atomic>

#include "servers/etcd_cluster.hpp"
#include "servers/etcd_server.hpp"
#include "servers/mariadb_server.hpp"
#include "servers/postgres_server.hpp"
#include "servers/redis_cluster.hpp"
#include "servers/redis_sentinels.hpp"
#include "servers/redis_server.hpp"
#include "servers/zookeeper_ensemble.hpp"
#include "servers/zookeeper_server.hpp"
#include "stores/open_store.hpp"
#include "support/contender.hpp"
#include "support/process_wide.hpp"
#include "support/temporary_folder.hpp"

namespace holdfast::test {

namespace {

[[maybe_unused]] std::string next_name() {
    static std::atomic<int> number{0};
    return "contract-" + std::to_string(++number);
}

#ifdef HOLDFAST_STORE_MEMORY
class MemorySite final : public Site {
public:
    std::string url() const override { return "memory:" + name_; }

private:
    std::string name_ = next_name();
};
#endif

#ifdef HOLDFAST_STORE_LOCAL
class LocalSite final : public Site {
public:
    std::string url() const override { return "local://" + folder_.path().string(); }

private:
    TemporaryFolder folder_;
};
#endif

/// One server for all cases, each of which finds it empty. Hundreds of requests at once may take a
/// database on a busy machine longer than the usual three seconds.
template <class Server, void (Server::*empty)() const>
class SharedSite final : public Site {
public:
    SharedSite() { (Server::shared().*empty)(); }
    std::string url() const override { return Server::shared().url() + "?request_timeout=30s"; }
};

#ifdef HOLDFAST_STORE_REDIS
/// Several servers, be they under sentinels or a cluster.
template <class Servers>
class RedisesSite final : public Site {
public:
    RedisesSite() { ProcessWide<Servers>::get().flush(); }
    std::string url() const override { return ProcessWide<Servers>::get().url(); }
};
#endif

#ifdef HOLDFAST_STORE_ZOOKEEPER
/// The cases have leases of up to a minute.
ZookeeperOptions with_long_sessions() {
    return {.settings = {"maxSessionTimeout=60000"}};
}
struct OneZookeeper : ZookeeperServer {
    OneZookeeper() : ZookeeperServer(with_long_sessions()) {}
};
struct ThreeZookeepers : ZookeeperEnsemble {
    ThreeZookeepers() : ZookeeperEnsemble(with_long_sessions()) {}
};

/// Each case has a part of the tree to itself.
template <class Servers>
class ZookeeperSite final : public Site {
public:
    std::string url() const override { return ProcessWide<Servers>::get().url() + "/" + name_; }
    std::string url_of_mortals() const override { return url() + "?tick=500ms"; }

private:
    std::string name_ = next_name();
};
#endif

#ifdef HOLDFAST_STORE_ETCD
template <class Servers>
class EtcdSite final : public Site {
public:
    std::string url() const override { return ProcessWide<Servers>::get().url(); }

private:
    // Each case finds them empty.
    const int cleared_ = (ProcessWide<Servers>::get().clear(), 0);
};
#endif

template <class Made>
std::unique_ptr<Site> make() {
    return std::make_unique<Made>();
}

}  // namespace

std::vector<StoreUnderTest> stores() {
    return {
#ifdef HOLDFAST_STORE_MEMORY
        {.name = "memory", .make = make<MemorySite>, .between_processes = false},
#endif
#ifdef HOLDFAST_STORE_LOCAL
        {.name = "local", .make = make<LocalSite>, .notices_death = true},
#endif
#ifdef HOLDFAST_STORE_REDIS
        {.name = "redis",
         .make = make<SharedSite<RedisServer, &RedisServer::flush>>,
         .rounds = 200},
        {.name = "redis_sentinel", .make = make<RedisesSite<RedisSentinels>>, .rounds = 100},
        {.name = "redis_cluster", .make = make<RedisesSite<RedisCluster>>, .rounds = 100},
#endif
#ifdef HOLDFAST_STORE_MYSQL
        {.name = "mysql",
         .make = make<SharedSite<MariadbServer, &MariadbServer::empty>>,
         .rounds = 40},
#endif
#ifdef HOLDFAST_STORE_POSTGRES
        {.name = "postgres",
         .make = make<SharedSite<PostgresServer, &PostgresServer::empty>>,
         .rounds = 40},
#endif
#ifdef HOLDFAST_STORE_ZOOKEEPER
        {.name = "zookeeper",
         .make = make<ZookeeperSite<OneZookeeper>>,
         .rounds = 40,
         .offers = false},
        {.name = "zookeeper3",
         .make = make<ZookeeperSite<ThreeZookeepers>>,
         .rounds = 20,
         .offers = false},
#endif
#ifdef HOLDFAST_STORE_ETCD
        {.name = "etcd", .make = make<EtcdSite<EtcdServer>>, .rounds = 40, .offers = false},
        {.name = "etcd3", .make = make<EtcdSite<EtcdCluster>>, .rounds = 20, .offers = false},
#endif
    };
}

std::vector<StoreUnderTest> stores_between_processes() {
    auto some = stores();
    std::erase_if(some, [](const StoreUnderTest& store) { return !store.between_processes; });
    return some;
}

Client Contract::another_client(ClientOptions options) const {
    return connect(site_->url(), std::move(options));
}

std::shared_ptr<Store> Contract::port() const {
    return open_store(site_->url()).store;
}

std::shared_ptr<Store> Contract::mortal_port() const {
    return open_store(site_->url_of_mortals()).store;
}

std::size_t Contract::holders(const std::string& name) const {
    std::size_t count = 0;
    for (const auto& line : client_.inspect(name)) {
        if (line.name == name) count += line.holders.size();
    }
    return count;
}

std::size_t Contract::waiters(const std::string& name) const {
    return waiters_of(client_, name);
}

Entry Contract::enter_undriven(Store& store, std::chrono::milliseconds lease) {
    const Contender one{
        .resource = resource("orders"), .nonce = {{std::byte{1}}}, .owner = "hung", .lease = lease};
    const auto entries = store.enter({&one, 1}).get();
    EXPECT_TRUE(entries.ok());
    return entries.value().front();
}

void Contract::break_holders(const std::string& name) const {
    const auto store = port();
    const auto lines = store->inspect(resource(name)).get();
    ASSERT_TRUE(lines.ok());
    for (const Line& line : lines.value()) {
        if (line.resource != resource(name)) continue;
        for (const Place& place : line.holders) {
            EXPECT_TRUE(store->leave(place.ticket).get().ok());
        }
    }
}

}  // namespace holdfast::test
