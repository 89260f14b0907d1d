#include <regex>
#include <set>

#include <holdfast/stores.hpp>

#include "contract/stores.hpp"
#include "servers/etcd_server.hpp"
#include "servers/mariadb_server.hpp"
#include "servers/memcached_server.hpp"
#include "servers/postgres_server.hpp"
#include "servers/redis_nodes.hpp"
#include "servers/redis_server.hpp"
#include "stores/open_store.hpp"
#include "support/byte_proxy.hpp"
#include "support/contender.hpp"
#include "support/process_wide.hpp"
#include "support/sanitized.hpp"

/// What `holdfast stores` prints is so: each cell of each row, tried on a real server. What the
/// servers do in promises_survival_test.cpp.
namespace holdfast::test {

namespace {

// --- the rows, and where each is tried ---

struct Promised {
    std::string name;  ///< as the table has it
    std::unique_ptr<Site> (*make)();
    /// Takes "orders" for twelve seconds as others do, where they are told apart from ours.
    void (*hold_as_others)() = nullptr;
};

void PrintTo(const Promised& promised, std::ostream* out) {
    *out << promised.name;
}

constexpr char plain[] = "plain";
constexpr char redisson[] = "redisson";
constexpr char shedlock[] = "shedlock";
constexpr char holdfast[] = "holdfast";

/// The server of the contract's cases, in a layout.
template <class Server, auto empty, const char* layout>
class LayoutSite final : public Site {
public:
    LayoutSite() { (Server::shared().*empty)(); }
    std::string url() const override {
        return Server::shared().url() + "?request_timeout=30s&layout=" + layout;
    }
};
template <class Server, auto empty, const char* layout>
std::unique_ptr<Site> make_layout() {
    return std::make_unique<LayoutSite<Server, empty, layout>>();
}

#ifdef HOLDFAST_STORE_POSTGRES
void hold_in_postgres() {
    PostgresServer::shared().query(
        "INSERT INTO shedlock VALUES ('orders', timezone('utc', clock_timestamp()) + '12 s', "
        "timezone('utc', clock_timestamp()), 'another')");
}
#endif
#ifdef HOLDFAST_STORE_MYSQL
void hold_in_mysql() {
    MariadbServer::shared().query(
        "INSERT INTO locks.shedlock VALUES ('orders', NOW(3) + INTERVAL 12 SECOND, NOW(3), "
        "'another')");
}
#endif

#ifdef HOLDFAST_STORE_REDLOCK
class RedlockSite final : public Site {
public:
    RedlockSite() { nodes().empty(); }
    std::string url() const override { return nodes().url("?request_timeout=30s"); }

private:
    static RedisNodes& nodes() { return ProcessWide<RedisNodes>::get(); }
};
std::unique_ptr<Site> make_redlock() {
    return std::make_unique<RedlockSite>();
}
#endif

std::vector<Promised> in_layouts() {
    return {
#ifdef HOLDFAST_STORE_REDLOCK
        {"redlock", make_redlock},
#endif
#ifdef HOLDFAST_STORE_REDIS
        {"redis?layout=plain", make_layout<RedisServer, &RedisServer::flush, plain>},
        {"redis?layout=redisson", make_layout<RedisServer, &RedisServer::flush, redisson>},
#endif
#ifdef HOLDFAST_STORE_MEMCACHED
        {"memcached", make_layout<MemcachedServer, &MemcachedServer::flush, holdfast>},
        {"memcached?layout=plain", make_layout<MemcachedServer, &MemcachedServer::flush, plain>},
#endif
#ifdef HOLDFAST_STORE_POSTGRES
        {"postgres?layout=shedlock", make_layout<PostgresServer, &PostgresServer::empty, shedlock>,
         hold_in_postgres},
#endif
#ifdef HOLDFAST_STORE_MYSQL
        {"mysql?layout=shedlock", make_layout<MariadbServer, &MariadbServer::empty, shedlock>,
         hold_in_mysql},
#endif
    };
}

/// Of the contract's stores those that have a row; what stands on three servers has one's.
std::vector<Promised> with_a_place() {
    std::set<std::string, std::less<>> rows;
    for (const StoreInfo& info : ::holdfast::stores()) rows.emplace(info.name);
    std::vector<Promised> result = in_layouts();
    for (const StoreUnderTest& store : stores()) {
        std::string name = store.name;
        std::ranges::replace(name, '_', '+');
        if (rows.contains(name)) result.push_back({name, store.make});
    }
    return result;
}

const StoreInfo& row_of(const std::string& name) {
    static const std::vector<StoreInfo> rows = ::holdfast::stores();
    return *std::ranges::find(rows, name, &StoreInfo::name);
}

TEST(StoresTable, EveryRowOfThisBuildIsTried) {
    std::set<std::string> tried;
    for (const Promised& promised : with_a_place()) tried.insert(promised.name);
    for (const StoreInfo& info : ::holdfast::stores()) {
        EXPECT_EQ(info.in_this_build, tried.contains(std::string(info.name))) << info.name;
    }
}

TEST(StoresTable, EverySchemeHasARow) {
    std::set<std::string> in_table;
    const std::regex word("[a-z+]+");
    const auto collect = [&](const std::string& text, std::set<std::string>& words) {
        for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at) {
            words.insert(at->str());
        }
    };
    for (const StoreInfo& info : ::holdfast::stores()) {
        if (info.in_this_build) collect(std::string(info.schemes), in_table);
    }
    std::set<std::string> known;
    try {
        static_cast<void>(open_store("nowhere:"));
    } catch (const Error& error) {
        const std::string text = error.what();
        collect(text.substr(text.find("knows: ") + 7), known);
    }
    EXPECT_EQ(in_table, known);
}

#ifdef HOLDFAST_STORE_ETCD
int served_by_etcd() {
    const auto& server = ProcessWide<EtcdServer>::get();
    double count = server.counted("etcdserverpb.Lease", "LeaseGrant");
    for (const char* const method : {"Range", "Txn", "DeleteRange", "Put"}) {
        count += server.counted("etcdserverpb.KV", method);
    }
    return static_cast<int>(count);
}
#endif

class Promises : public testing::TestWithParam<Promised> {
protected:
    std::string url() const { return site_->url(); }
    Client another() const { return connect(url()); }

    /// How many requests the work sends, at one go each; nothing where a store has no one server
    /// that a proxy could stand before. `work` gets a client, and what counts.
    template <class Work>
    std::optional<int> requests_of(Work work) {
#ifdef HOLDFAST_STORE_ETCD
        // What goes to it at one go is not all a request's: HTTP/2 has words of its own.
        if (GetParam().name == "etcd") return work(client_, served_by_etcd);
#endif
        static const std::regex address("127\\.0\\.0\\.1:([0-9]+)");
        const std::string direct = url();
        const std::sregex_iterator found(direct.begin(), direct.end(), address);
        if (std::distance(found, std::sregex_iterator()) != 1) return std::nullopt;
        ByteProxy proxy(std::stoi((*found)[1]));
        const std::string behind =
            std::regex_replace(direct, address, "127.0.0.1:" + std::to_string(proxy.port()));
        const Client client = connect(behind);
        return work(client, [&] { return proxy.requests(); });
    }

    const Capabilities can = row_of(GetParam().name).can;
    const std::unique_ptr<Site> site_ = GetParam().make();
    const Client client_ = another();
};
INSTANTIATE_TEST_SUITE_P(EveryRow, Promises, testing::ValuesIn(with_a_place()),
                         [](const auto& about) {
                             std::string name = about.param.name;
                             std::ranges::replace(name, '+', '_');
                             std::ranges::replace(name, '?', '_');
                             std::ranges::replace(name, '=', '_');
                             return name;
                         });

TEST_P(Promises, AreWhatTheStoreItselfSays) {
    Capabilities said = open_store(url()).store->capabilities();
    EXPECT_EQ(said.longest_lease_is, can.longest_lease_is);
    if (!can.longest_lease_is.empty()) {
        EXPECT_GT(said.longest_lease, 0ms) << "by what the servers grant";
        said.longest_lease = can.longest_lease;
    }
    EXPECT_TRUE(said == can);
}

TEST_P(Promises, AFenceRisesOrThereIsNone) {
    std::uint64_t last = 0;
    for (int i = 0; i < 5; ++i) {
        const auto fence = client_.mutex("orders").acquire().fence();
        EXPECT_TRUE(can.fences ? fence > last : fence == 0) << fence << " after " << last;
        last = fence;
    }
    EXPECT_EQ(!error_of([&] { return client_.mutex("orders", {.fenced = true}); }), can.fences);
}

TEST_P(Promises, AnOrderThatThereIsNotIsRefused) {
    const auto is_there = [&](Fairness fairness) {
        const auto code = error_of([&] { return client_.mutex("orders", {.fairness = fairness}); });
        EXPECT_TRUE(!code || code == errc::not_supported) << code;
        return !code;
    };
    EXPECT_EQ(is_there(Fairness::fifo), can.fifo);
    EXPECT_EQ(is_there(Fairness::barging), can.barging);
    EXPECT_TRUE(is_there(can.default_fairness));
    if (!can.barging || !can.permits) return;
    EXPECT_EQ(
        !error_of([&] { return client_.semaphore("pool", 3, {.fairness = Fairness::barging}); }),
        can.barging_shares);
}

TEST_P(Promises, AReaderIsLetInBesideAnotherOrRefused) {
    const auto code = error_of([&] { return client_.shared_mutex("orders"); });
    EXPECT_EQ(!code, can.shared);
    if (code) {
        EXPECT_EQ(code, errc::not_supported);
        return;
    }
    const Hold one = client_.shared_mutex("orders").acquire_shared();
    const Client other = another();
    const auto beside = other.shared_mutex("orders").try_acquire_shared();
    EXPECT_TRUE(beside);
    const auto writer = other.shared_mutex("orders").try_acquire();
    EXPECT_FALSE(writer);
}

TEST_P(Promises, PermitsAreCountedOrRefused) {
    const auto code = error_of([&] { return client_.semaphore("pool", 2); });
    EXPECT_EQ(!code, can.permits);
    if (code) {
        EXPECT_EQ(code, errc::not_supported);
        return;
    }
    const Hold one = client_.semaphore("pool", 2).acquire();
    const auto two = another().semaphore("pool", 2).try_acquire();
    EXPECT_TRUE(two);
    const auto three = another().semaphore("pool", 2).try_acquire();
    EXPECT_FALSE(three);
}

TEST_P(Promises, AnOwnerEntersAgainOrIsRefused) {
    const LockOptions options{.owner = "build", .reenter = true};
    const auto code = error_of([&] { return client_.mutex("orders", options); });
    EXPECT_EQ(!code, can.reenter);
    if (code) {
        EXPECT_EQ(code, errc::not_supported);
        return;
    }
    const Hold one = client_.mutex("orders", options).acquire();
    const auto again = another().mutex("orders", options).try_acquire();
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->fence(), one.fence());
}

TEST_P(Promises, SeveralAreTakenTogetherOrOneByOne) {
    const auto cost = requests_of([](const Client& client, auto requests) {
        auto both = client.multi_lock({"a", "b"});
        for (int i = 0; i < 3; ++i) both.acquire().release();
        const int before = requests();
        auto hold = both.acquire();
        return requests() - before;
    });
    if (!cost) GTEST_SKIP() << "it has several servers, or none";
    EXPECT_EQ(*cost == 1, can.enter_together) << *cost;
}

TEST_P(Promises, AFreeLockTakesSoManyRoundTrips) {
    constexpr int pairs = 10;
    const auto cost = requests_of([](const Client& client, auto requests) {
        auto mutex = client.mutex("orders");
        for (int i = 0; i < 3; ++i) mutex.acquire().release();
        const int before = requests();
        for (int i = 0; i < pairs; ++i) mutex.acquire().release();
        return requests() - before;
    });
    if (!cost) {
        // It has several servers, each of which serves as the one does; or none.
        EXPECT_EQ(can.round_trips, can.survives_restart == Survival::no_server ? 0 : 2);
        return;
    }
    EXPECT_EQ((*cost + pairs / 2) / pairs, can.round_trips) << *cost;
}

TEST_P(Promises, AWaiterIsToldOrLooks) {
    constexpr auto meanwhile = 5s;
    bool was_told = false;
    const auto cost = requests_of([&](const Client& client, auto requests) {
        std::optional<Hold> hold;
        if (GetParam().hold_as_others != nullptr) {
            GetParam().hold_as_others();
        } else {
            hold = client_.mutex("orders").acquire();
        }
        Acquiring waiter(client, "orders");
        // What it takes to stand in line, and to listen. Who looks goes on.
        int before = -1;
        static_cast<void>(await(
            [&] {
                const int earlier = std::exchange(before, requests());
                return waiter.is_over(500ms) || earlier == before;
            },
            4s));
        before = requests();
        EXPECT_FALSE(waiter.is_over(meanwhile));
        const int looks = requests() - before;
        if (hold) hold->release();
        waiter.get().release();
        was_told = true;
        return looks;
    });
    if (!cost) GTEST_SKIP() << "it has several servers, each as the one; or none";
    EXPECT_TRUE(was_told);
    // A connection by which only the server speaks is asked each two seconds whether it lives.
    constexpr int signs_of_life = 3;
    if (can.waking == Waking::told) {
        EXPECT_LE(*cost, signs_of_life);
    } else {
        EXPECT_GT(*cost, signs_of_life) << "it looks about once a second, or more often";
    }
}

TEST_P(Promises, WhoIsToldComesInSoonerThanALookWould) {
    if (can.waking == Waking::looks) GTEST_SKIP() << "nobody is told";
    std::vector<Clock::duration> took;
    const Client other = another();
    for (int i = 0; i < 9; ++i) {
        auto hold = client_.mutex("orders").acquire();
        Acquiring waiter(other, "orders");
        EXPECT_FALSE(waiter.is_over(50ms));
        const auto released = Clock::now();
        hold.release();
        waiter.get().release();
        took.push_back(Clock::now() - released);
    }
    std::ranges::sort(took);
    // Who looks does so about once a second.
    EXPECT_LT(took[took.size() / 2], sanitized ? 600ms : 250ms);
}

TEST_P(Promises, OtherProcessesAreExcludedOrAreNot) {
    const Hold hold = client_.mutex("orders").acquire();
    Child other = Contenders(url()).talker();
    ASSERT_EQ(other.hear(), "ready");
    EXPECT_EQ(other.ask("try orders 1000") != "busy", can.reach == Reach::process);
}

TEST_P(Promises, ADeadHoldersPlaceIsFreeAtOnceOrKeptForItsLease) {
    if (can.reach == Reach::process) GTEST_SKIP() << "it dies with its store";
    const auto lease = 5s;
    Child holder = Contenders(url()).talker();
    ASSERT_EQ(holder.hear(), "ready");
    ASSERT_TRUE(holder.ask("acquire orders 5000").starts_with("held "));
    holder.kill();
    const auto killed = Clock::now();
    const auto next = client_.mutex("orders").try_acquire_for(30s);
    ASSERT_TRUE(next.has_value());
    const auto waited = Clock::now() - killed;
    if (can.freeing == Freeing::at_once) {
        EXPECT_LT(waited, lease / 2);
    } else {
        EXPECT_GT(waited, lease / 2);
    }
}

TEST_P(Promises, NoLeaseIsShorterThanTheShortest) {
    const auto store = open_store(site_->url_of_mortals()).store;
    const auto asked = Clock::now();
    const Contender one{.resource = open_store(url()).prefix + "orders",
                        .nonce = {{std::byte{1}}},
                        .owner = "hung",
                        .fairness = can.default_fairness,
                        .lease = 100ms};
    ASSERT_TRUE(store->enter({&one, 1}).get().ok());
    const auto next = client_.mutex("orders").try_acquire_for(30s);
    ASSERT_TRUE(next.has_value());
    const auto kept = Clock::now() - asked;
    if (!can.shortest_lease) {
        EXPECT_GT(kept, 500ms) << "the servers grant no less";
        return;
    }
    EXPECT_GE(kept + 1ms, *can.shortest_lease);
    EXPECT_LT(kept, *can.shortest_lease + 3s);
}

TEST_P(Promises, TheLongestLeaseIsGrantedAndNoLongerOne) {
    const auto longest = open_store(url()).store->capabilities().longest_lease;
    const Hold hold = client_.mutex("orders", {.lease = longest}).acquire();
    EXPECT_GT(hold.remaining(), longest / 2);
    EXPECT_EQ(error_of([&] { return client_.mutex("orders", {.lease = longest + 1ms}); }),
              errc::invalid_argument);
    if (!can.shared || can.longest_shared_lease >= longest) return;
    auto readers = client_.shared_mutex("reports", {.lease = can.longest_shared_lease + 1ms});
    EXPECT_EQ(error_of([&] { return readers.acquire_shared(); }), errc::invalid_argument);
}

TEST_P(Promises, ALeaseIsLengthenedOrNot) {
    const auto lease = std::min<std::chrono::milliseconds>(
        open_store(url()).store->capabilities().longest_lease, 10s);
    Hold hold = client_.mutex("orders", {.lease = lease / 2}).acquire();
    EXPECT_EQ(hold.lengthen(lease), can.lengthens);
}

}  // namespace

}  // namespace holdfast::test
