#include "checkup/examined.hpp"
#include "servers/redis_cluster.hpp"
#include "servers/redis_sentinels.hpp"
#include "servers/redis_server.hpp"

namespace holdfast::test {
namespace {

const std::vector<std::string> saving{"appendonly yes", "appendfsync always"};

class CheckedRedis : public testing::Test {
protected:
    void set(const std::string& name, const std::string& value) const {
        server_.command({"CONFIG", "SET", name, value});
    }
    Names found(const std::string& parameters = "") const {
        return found_on(server_.url() + parameters);
    }
    std::string url_of_user(const std::string& rights) const {
        std::vector<std::string> words{"ACL", "SETUSER", "app", "reset", "on", ">secret"};
        std::istringstream in(rights);
        for (std::string word; in >> word;) words.push_back(word);
        server_.command(words);
        return "redis://app:secret@" + server_.address();
    }

    const RedisServer server_{{.settings = saving}};
};

TEST_F(CheckedRedis, IsWellAndNothingStaysButWhatRemembersFences) {
    const Checkup checkup = expect_well(server_.url());
    ASSERT_TRUE(checkup.clock_ahead);
    EXPECT_LT(std::chrono::abs(*checkup.clock_ahead), 500ms);
    EXPECT_THAT(server_.command({"KEYS", "*"}), Not(HasSubstr("check")));
    EXPECT_LE(std::stoi(server_.command({"DBSIZE"})), 1);
    EXPECT_THAT(checkup.store, HasSubstr(server_.address()));
}

TEST_F(CheckedRedis, FindsThatItEvictsOrIsFullOrForgets) {
    EXPECT_THAT(found(), IsEmpty());
    set("maxmemory", "100mb");
    EXPECT_THAT(found(), IsEmpty()) << "it refuses what does not fit";
    for (const char* policy : {"allkeys-lru", "volatile-ttl"}) {
        set("maxmemory-policy", policy);
        EXPECT_THAT(found(), ElementsAre("redis.evicts"));
    }
    set("maxmemory", "0");
    EXPECT_THAT(found(), IsEmpty()) << "there is always room";
    set("maxmemory-policy", "noeviction");
    server_.command({"SET", "others", std::string(20'000'000, 'x')});
    set("maxmemory", "21mb");
    EXPECT_THAT(found(), ElementsAre("redis.full"));
    set("maxmemory", "0");
    set("appendfsync", "everysec");
    EXPECT_THAT(found(), ElementsAre("redis.saves_late"));
    set("appendonly", "no");
    EXPECT_THAT(found(), ElementsAre("redis.forgets"));
    set("save", "60 1");
    EXPECT_THAT(found(), ElementsAre("redis.forgets")) << "what was taken since is forgotten";
}

TEST_F(CheckedRedis, FindsWhatAUserMayNotDo) {
    EXPECT_THAT(found_on(url_of_user("+@all ~* &*")), IsEmpty());
    EXPECT_THAT(found_on(url_of_user("+@all -config ~* &*")), ElementsAre("redis.untold"));
    EXPECT_THAT(found_on(url_of_user("+@all -info ~* &*")), ElementsAre("redis.untold"));
    EXPECT_THAT(found_on(url_of_user("+@all -fcall ~* &*")), ElementsAre("redis.functions"));
    EXPECT_THAT(found_on(url_of_user("~{holdfast/* &holdfast:* +fcall +time +publish +subscribe "
                                     "+ping +echo +client|setname")),
                ElementsAre("redis.untold"))
        << "locks need neither INFO nor CONFIG";
    EXPECT_THAT(found_on(url_of_user("+@all ~*")), ElementsAre("redis.channels"));
    EXPECT_THAT(found_on(url_of_user("+@all -publish ~* &*")), ElementsAre("redis.channels"));
    try {
        static_cast<void>(check_up(url_of_user("+@all -eval -evalsha -fcall ~* &*")));
        ADD_FAILURE() << "who may not lock is told so as ever";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
    }
}

TEST_F(CheckedRedis, FindsReplicasThatNobodyAsks) {
    const RedisServer replica({.settings = {"replicaof 127.0.0.1 " + std::to_string(server_.port()),
                                            "repl-diskless-sync-delay 0"}});
    ASSERT_TRUE(await([&] { return server_.is_followed_by(replica); }));
    EXPECT_THAT(found(), ElementsAre("redis.unconfirmed"));
    EXPECT_THAT(found("?layout=plain"), ElementsAre("redis.unconfirmed"));
    EXPECT_THAT(found("?replicas=majority"), IsEmpty());
}

TEST(CheckedRedisClock, IsComparedWithOurs) {
    // Without a file that says otherwise it is an hour behind.
    const RedisServer server(
        {.settings = saving, .under = {"env", "LD_PRELOAD=" HOLDFAST_TEST_WRONG_CLOCK}});
    const Checkup checkup = check_up(server.url());
    ASSERT_EQ(checkup.findings.size(), 1U);
    EXPECT_EQ(checkup.findings.front().name, "store.clock");
    EXPECT_THAT(checkup.findings.front().fact, HasSubstr(" s behind this machine's"));
    ASSERT_TRUE(checkup.clock_ahead);
    EXPECT_LT(std::chrono::abs(*checkup.clock_ahead + 1h), 500ms);
    EXPECT_FALSE(checkup.is_safe());
}

TEST(CheckedSentinels, AreWellOrToldWhatTheyLack) {
    RedisSentinels all;
    const auto set_well = [&] {
        for (std::size_t i = 0; i < RedisSentinels::size; ++i) {
            all.server(i).command({"CONFIG", "SET", "appendonly", "yes"});
            all.server(i).command({"CONFIG", "SET", "appendfsync", "always"});
        }
    };
    EXPECT_THAT(found_on(all.url()), ElementsAre("redis.forgets", "redis.unconfirmed"));
    set_well();
    expect_well(all.url("replicas=majority"));
    all.sentinel(0).kill();
    EXPECT_THAT(found_on(all.url("replicas=majority&connect_timeout=500ms&request_timeout=1s")),
                ElementsAre("redis.sentinel_silent"));
}

TEST(CheckedSentinels, OneAloneOverAMasterAloneIsTooFew) {
    const RedisServer master({.settings = saving});
    const RedisSentinel sentinel(master.port(), {});
    EXPECT_THAT(found_on(sentinel.url()), ElementsAre("redis.few_sentinels", "redis.no_replica"));
}

TEST(CheckedCluster, IsWellOrToldWhatItLacks) {
    RedisCluster cluster(saving);
    EXPECT_THAT(found_on(cluster.url()), ElementsAre("redis.unconfirmed"));
    expect_well(cluster.url("replicas=majority"));
}

TEST(CheckedCluster, OfOneMasterIsTooSmall) {
    std::vector<std::string> settings = saving;
    settings.insert(settings.end(), {"cluster-enabled yes", "cluster-config-file nodes.conf"});
    const RedisServer node({.settings = settings});
    node.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
    ASSERT_TRUE(await([&] {
        return node.command({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos;
    }));
    EXPECT_THAT(found_on("redis+cluster://" + node.address()),
                ElementsAre("redis.few_masters", "redis.no_replica"));
}

}  // namespace
}  // namespace holdfast::test
