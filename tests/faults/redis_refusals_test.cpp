#include <algorithm>
#include <fstream>
#include <future>

#include "faults/redis_faults.hpp"
#include "support/contender.hpp"

/// A server that answers, but not what was asked for.
namespace holdfast::test {
namespace {

using Clock = std::chrono::steady_clock;

class RedisRefusals : public testing::Test {
protected:
    explicit RedisRefusals(RedisOptions options = {}) : server_(std::move(options)) {
        load_scripts(server_);
    }

    Client client(const std::string& parameters = "") const {
        return connect(server_.url() + parameters);
    }
    Client client_as(const std::string& user) const {
        return connect("redis://" + user + ":secret@127.0.0.1:" + std::to_string(server_.port()));
    }
    void configure(const std::string& setting, const std::string& value) const {
        EXPECT_EQ(server_.command({"CONFIG", "SET", setting, value}), "OK");
    }
    void make_user(Words rights) const {
        Words words{"ACL", "SETUSER", "alice", "reset", "on", ">secret"};
        words.insert(words.end(), rights.begin(), rights.end());
        EXPECT_EQ(server_.command(words), "OK");
    }
    Error acquire_in_vain(const Client& client) const {
        return error_of([&] { return client.mutex("orders", {.lease = long_lease}).acquire(); });
    }
    void expect_refused(const Error& error, errc code, std::string_view words) const {
        EXPECT_EQ(error.code(), code) << error.what();
        EXPECT_EQ(error.effect(), Effect::none) << error.what();
        expect_says(error, words);
        expect_says(error, "orders: redis 127.0.0.1:" + std::to_string(server_.port()));
        EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
    }

    RedisServer server_;
};

TEST_F(RedisRefusals, AReplicaIsNamedAsSuch) {
    const Client ours = client("?request_timeout=500ms");
    server_.command({"REPLICAOF", "127.0.0.1", "1"});
    expect_refused(acquire_in_vain(ours), errc::unreachable, "read-only replica");
    server_.command({"REPLICAOF", "NO", "ONE"});
    ours.mutex("orders").acquire().release();
    expect_nobody_left(server_);
}

TEST_F(RedisRefusals, ManyThatMeetAReplicaAllGetTheirAnswerAndNothingIsLeft) {
    const Client ours = client("?request_timeout=2s");
    server_.command({"REPLICAOF", "127.0.0.1", "1"});
    std::atomic<int> refused{0};
    std::atomic<int> told{0};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 16; ++i) {
            threads.emplace_back([&, i] {
                auto mutex = ours.mutex("orders/" + std::to_string(i), {.lease = long_lease});
                const Error error = error_of([&] { return mutex.acquire(); });
                if (error.code() == errc::unreachable) ++refused;
                const std::string_view said = error.what();
                if (said.find("read-only replica") != said.npos) ++told;
            });
        }
    }
    EXPECT_EQ(refused, 16);
    // Whose time is up when it has just been sent again has had no answer to that.
    EXPECT_GT(told, 0);
    server_.command({"REPLICAOF", "NO", "ONE"});
    ours.mutex("orders").acquire().release();
    expect_nobody_left(server_);
}

TEST_F(RedisRefusals, AHolderOnAServerThatBecomesAReplicaIsTold) {
    auto hold = client("?request_timeout=500ms").mutex("orders", {.lease = 900ms}).acquire();
    server_.command({"REPLICAOF", "127.0.0.1", "1"});
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }, 2s));
    EXPECT_NE(hold.release(), Released::in_time);
    server_.command({"REPLICAOF", "NO", "ONE"});
    expect_nobody_left(server_);
}

TEST_F(RedisRefusals, AReplicaThatLostItsPrimaryIsConnectedToAnewWhileThereIsTime) {
    const Client ours = client("?request_timeout=1s");
    configure("replica-serve-stale-data", "no");
    server_.command({"REPLICAOF", "127.0.0.1", "1"});
    const auto start = Clock::now();
    const Error error = error_of([&] { return ours.inspect("orders"); });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    expect_says(error, "lost its primary");
    EXPECT_LT(Clock::now() - start, 5s);
    const auto connected = [&] {
        const auto statistics = server_.command({"INFO", "stats"});
        const std::string_view before = "total_connections_received:";
        return std::stoul(statistics.substr(statistics.find(before) + before.size()));
    };
    const auto before = connected();
    const auto again = std::async(std::launch::async, [&] { return ours.inspect("orders"); });
    // One of those is that of the question itself.
    ASSERT_TRUE(await([&, count = 0U]() mutable { return connected() - before > ++count + 2; }));
    server_.command({"REPLICAOF", "NO", "ONE"});
    again.wait();
    ours.mutex("orders").acquire().release();
    expect_nobody_left(server_);
}

TEST_F(RedisRefusals, AServerWithoutMemoryTakesNobodyInButServesWhoIsThere) {
    const Client ours = client();
    auto hold = ours.mutex("orders", {.lease = 2s}).acquire();
    Acquiring waiting(ours, "orders", {.lease = 2s});
    ASSERT_TRUE(await([&] { return waiters_of(ours, "orders") == 1; }));
    configure("maxmemory-policy", "noeviction");
    configure("maxmemory", "1");
    expect_refused(acquire_in_vain(ours), errc::unreachable, "no memory left");
    // Over several renewals.
    EXPECT_FALSE(waiting.is_over(2500ms));
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(hold.release(), Released::in_time);
    auto next = waiting.get();
    EXPECT_GT(next.fence(), hold.fence());
    EXPECT_EQ(next.release(), Released::in_time);
    configure("maxmemory", "0");
    expect_nobody_left(server_);
}

TEST_F(RedisRefusals, AServerThatWantsReplicasIsToldOf) {
    const Client ours = client();
    configure("min-replicas-to-write", "1");
    expect_refused(acquire_in_vain(ours), errc::unreachable, "without enough replicas");
    configure("min-replicas-to-write", "0");
    ours.mutex("orders").acquire().release();
}

// --- passwords and rights ---

class RedisPassword : public RedisRefusals {
protected:
    RedisPassword() : RedisRefusals({.password = "secret"}) {}
    std::string bare_url(const std::string& user = "") const {
        return "redis://" + user + "127.0.0.1:" + std::to_string(server_.port());
    }
    static void expect_refused_at_once(const std::string& url, std::string_view words) {
        const auto start = Clock::now();
        const Error error = error_of([&] { return connect(url); });
        EXPECT_LT(Clock::now() - start, 1s);
        EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
        expect_says(error, words);
        EXPECT_EQ(std::string(error.what()).find("wrong-one"), std::string::npos) << error.what();
    }
};

TEST_F(RedisPassword, TheRightOneIsLetIn) {
    EXPECT_TRUE(client().mutex("orders").acquire().held());
    EXPECT_TRUE(connect(bare_url("default:secret@")).mutex("orders").acquire().held());
}

TEST_F(RedisPassword, NoneIsRefusedAtOnce) {
    expect_refused_at_once(bare_url(), "it wants a password");
}

TEST_F(RedisPassword, AWrongOneIsRefusedAtOnceAndNotShown) {
    expect_refused_at_once(bare_url(":wrong-one@"), "refuses this user and password");
    expect_refused_at_once(bare_url("nobody:wrong-one@"), "refuses this user and password");
}

TEST_F(RedisPassword, OneThatTheServerQuotesIsNotShown) {
    FaultProxy proxy(server_.port());
    const std::string at = "@127.0.0.1:" + std::to_string(proxy.port()) + "?request_timeout=500ms";
    for (const std::string password : {"wrong-one", "hunter2%21", "pw"}) {
        proxy.garbage(
            "-ERR unknown command 'AUTH', with args beginning with: 'wrong-one' "
            "'hunter2!' 'pw' \r\n");
        const Error error = error_of([&] { return connect("redis://:" + password + at); });
        const std::string quoted = password == "hunter2%21" ? "hunter2!" : password;
        EXPECT_EQ(std::string(error.what()).find(quoted), std::string::npos) << error.what();
    }
}

TEST_F(RedisPassword, OneFromAFileIsLetInAndAMissingFileIsRefused) {
    const TemporaryFolder folder;
    const std::string file = folder.path() / "password";
    std::ofstream(file) << "secret\n";
    EXPECT_TRUE(connect(bare_url() + "?password_file=" + file).mutex("orders").acquire().held());
    std::ofstream(file) << "wrong-one\n";
    expect_refused_at_once(bare_url() + "?password_file=" + file, "refuses this user");
    expect_refused_at_once(bare_url() + "?password_file=" + file + "-not", "cannot be read");
}

TEST_F(RedisPassword, OneThatIsChangedWhileConnectedIsToldOfAtOnce) {
    const Client ours = client();
    ours.mutex("orders").acquire().release();
    configure("requirepass", "another");
    server_.command({"CLIENT", "KILL", "TYPE", "normal"});
    const auto start = Clock::now();
    const Error error = acquire_in_vain(ours);
    EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
    expect_says(error, "user and password");
    EXPECT_LT(Clock::now() - start, 1s);
    configure("requirepass", "secret");
    ours.mutex("orders").acquire().release();
    expect_nobody_left(server_);
}

TEST_F(RedisRefusals, AUserWithTheRightsOfTheDocumentationIsLetIn) {
    make_user({"~*", "&*", "+@all", "-@dangerous", "-@admin"});
    EXPECT_TRUE(client_as("alice").mutex("orders").acquire().held());
    expect_nobody_left(server_);
}

TEST_F(RedisRefusals, AUserWhoMayNotRunScriptsIsTold) {
    make_user({"~*", "&*", "+@all", "-fcall", "-evalsha", "-eval"});
    expect_refused(acquire_in_vain(client_as("alice")), errc::bad_configuration, "may not do it");
}

TEST_F(RedisRefusals, AUserWhoMayNotWriteThatKeyIsTold) {
    make_user({"~{holdfast/???}holdfast/other*", "~{holdfast/???}#fence", "&*", "+@all"});
    expect_refused(acquire_in_vain(client_as("alice")), errc::bad_configuration, "may not do it");
    EXPECT_TRUE(client_as("alice").mutex("other").acquire().held());
}

TEST_F(RedisRefusals, AUserWhoMayNotRunACommandOfAScriptIsTold) {
    for (const std::string command : {"set", "time"}) {
        SCOPED_TRACE(command);
        make_user({"~*", "&*", "+@all", "-" + command});
        const Error error = acquire_in_vain(client_as("alice"));
        EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
        expect_says(error, "may not do it");
    }
    expect_nobody_left(server_);
}

TEST_F(RedisRefusals, AUserWithoutChannelsWaitsByLookingAgain) {
    make_user({"~*", "resetchannels", "+@all", "-subscribe", "-publish"});
    auto holder = client_as("alice").mutex("orders", {.lease = long_lease}).acquire();
    const Client ours = client_as("alice");
    Acquiring first(ours, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return waiters_of(ours, "orders") == 1; }));
    Acquiring second(ours, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return waiters_of(ours, "orders") == 2; }));
    const auto released = Clock::now();
    EXPECT_EQ(holder.release(), Released::in_time);
    first.get().release();
    second.get().release();
    EXPECT_LT(Clock::now() - released, 5s) << "the lease is a minute";
    expect_nobody_left(server_);
}

TEST_F(RedisRefusals, AUserWithoutClientCommandsIsServedAllTheSame) {
    make_user({"~*", "&*", "+@all", "-client"});
    auto holder = client().mutex("orders", {.lease = long_lease}).acquire();
    const Client ours = client_as("alice");
    Acquiring waiting(ours, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return waiters_of(ours, "orders") == 1; }));
    const auto released = Clock::now();
    holder.release();
    waiting.get().release();
    EXPECT_LT(Clock::now() - released, 5s);
    expect_nobody_left(server_);
}

// --- others' data under our keys ---

class RedisWrongType : public RedisRefusals {
protected:
    /// Whatever is in the server, comparable.
    std::string everything() const {
        auto keys = keys_of(server_);
        std::ranges::sort(keys);
        std::string all_of_it;
        for (const auto& key : keys) {
            if (counts_fences(key)) continue;
            all_of_it += key + "=" + server_.command({"DUMP", key}) + "\n";
        }
        return all_of_it;
    }
    void plant(const std::string& key) const {
        EXPECT_EQ(server_.command({"TYPE", key}), "none");
        server_.command({"SADD", key, "another's"});
    }
    static constexpr const char* another = "something else is stored under the lock's key";
};

TEST_F(RedisWrongType, UnderAKeyThatEnterReadsIsToldAndNothingIsTouched) {
    const std::pair<std::string, std::string> cases[] = {
        {"holdfast", line_key("holdfast/orders")},
        {"holdfast", fence_key("holdfast/orders")},
        {"plain", "orders"},
        {"plain", "holdfast_holds:{orders}"},
        {"redisson", "orders"},
        {"redisson", "holdfast_fence:{orders}"},
    };
    for (const auto& [layout, key] : cases) {
        SCOPED_TRACE(layout + " " + key);
        server_.flush();
        plant(key);
        const std::string before = everything();
        expect_refused(acquire_in_vain(client("?layout=" + layout)), errc::corrupt, another);
        EXPECT_EQ(everything(), before);
        server_.command({"DEL", key});
        client("?layout=" + layout).mutex("orders").acquire().release();
    }
}

TEST_F(RedisWrongType, UnderAKeyOfWaitersIsToldToWhoWouldWaitAndNothingIsTouched) {
    for (const std::string kind : {"#order", "#waiters"}) {
        const std::string key = line_key("holdfast/orders") + kind;
        SCOPED_TRACE(key);
        server_.flush();
        plant(key);
        const Client ours = client();
        auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
        const std::string before = everything();
        expect_refused(acquire_in_vain(ours), errc::corrupt, another);
        EXPECT_EQ(everything(), before);
        EXPECT_EQ(hold.release(), Released::in_time);
    }
}

TEST_F(RedisWrongType, UnderATombstonesKeyIsToldByTheLeaveThatWouldPlantIt) {
    const PortUser user(server_.url());
    const Contender one = PortUser::contender();
    ASSERT_TRUE(user.enter(one).ok());
    plant(line_key("orders") + "#left");
    const std::string before = everything();
    const auto left = user.leave({one.resource, one.nonce, {}});
    ASSERT_FALSE(left.ok());
    EXPECT_EQ(left.failure().code, errc::corrupt) << left.failure().sentence;
    EXPECT_EQ(left.failure().effect, Effect::none);
    EXPECT_EQ(everything(), before);
}

TEST_F(RedisWrongType, UnderALockThatIsHeldMakesItsHolderLoseItInTime) {
    auto hold = client().mutex("orders", {.lease = 900ms}).acquire();
    server_.flush();
    plant(line_key("holdfast/orders"));
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }, 2s));
    EXPECT_NE(hold.release(), Released::in_time);
    EXPECT_EQ(server_.command({"TYPE", line_key("holdfast/orders")}), "set");
}

/// Holds that are renewed together with one that cannot be.
class RedisPoisoned : public RedisWrongType {
protected:
    void expect_others_are_kept(const std::string& layout, const std::string& key,
                                const Words& poison) const {
        SCOPED_TRACE(layout + " " + poison.front());
        server_.flush();
        const Client ours = client("?layout=" + layout);
        auto orders = ours.mutex("orders", {.lease = 1200ms}).acquire();
        auto invoices = ours.mutex("invoices", {.lease = 1200ms}).acquire();
        server_.command({"DEL", key});
        server_.command(poison);
        EXPECT_TRUE(await([&] { return orders.lost().stop_requested(); }));
        EXPECT_FALSE(await([&] { return invoices.lost().stop_requested(); }, 3s));
        EXPECT_EQ(invoices.release(), Released::in_time);
    }
};

TEST_F(RedisPoisoned, OneLockDoesNotCostAClientItsOthers) {
    const std::string ours = line_key("holdfast/orders");
    expect_others_are_kept("holdfast", ours, {"SADD", ours, "another's"});
    expect_others_are_kept("holdfast", ours, {"SET", ours, "another's"});
    expect_others_are_kept("plain", "orders", {"SADD", "orders", "another's"});
    expect_others_are_kept("redisson", "orders", {"SADD", "orders", "another's"});
}

}  // namespace
}  // namespace holdfast::test
