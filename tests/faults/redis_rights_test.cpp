#include <algorithm>
#include <fstream>
#include <sstream>

#include "faults/redis_replicated.hpp"
#include "servers/redis_cluster.hpp"
#include "servers/redis_sentinels.hpp"
#include "support/acquiring.hpp"
#include "support/contender.hpp"
#include "support/temporary_folder.hpp"

/// Users of the server with the rights of docs/stores/redis.md, and with one of them missing.
namespace holdfast::test {
namespace {

using State = Standing::State;

/// As the documentation has them; `orders` for the names of the locks in the layouts of others.
std::string documented_rights(const std::string& layout) {
    if (layout == "holdfast") {
        return "~{holdfast/* &holdfast:* +fcall +function|load +eval +evalsha +time +get +set +del "
               "+hmget +hset +hdel "
               "+hgetall +hscan +hlen +pexpireat +zadd +zrange +zrem +zcard +zscore "
               "+zremrangebyscore +publish +subscribe +ping +echo +scan +client|setname "
               "+client|id";
    }
    const std::string plain =
        "~orders* ~holdfast_* &__redis__:invalidate +fcall +function|load +eval +evalsha +time "
        "+get +set +getex +del "
        "+pexpire +pttl +subscribe +ping +echo +scan +client|setname +client|id +client|tracking";
    if (layout == "plain") return plain;
    return plain +
           " ~{orders* &redisson_* +hget +hset +hdel +hmget +hgetall +hlen +hexists +hincrby "
           "+publish +spublish";
}

std::vector<std::string> words_in(const std::string& text) {
    std::istringstream words(text);
    return {std::istream_iterator<std::string>(words), {}};
}

/// As the documentation has them for `holdfast`, and more.
Words making_user(const std::string& more) {
    Words words{"ACL", "SETUSER", "alice", "reset", "on", ">secret"};
    for (const auto& right : words_in(documented_rights("holdfast") + " " + more)) {
        words.push_back(right);
    }
    return words;
}

class RedisRights : public testing::TestWithParam<RedisLayout> {
protected:
    RedisRights() { load_scripts(server_); }

    std::vector<std::string> rights() const { return words_in(documented_rights(GetParam().name)); }
    /// Those that were enough before scripts were functions.
    std::vector<std::string> rights_without_functions() const {
        auto some = rights();
        std::erase(some, "+fcall");
        std::erase(some, "+function|load");
        return some;
    }
    void make_user(const std::vector<std::string>& rights) const {
        Words words{"ACL", "SETUSER", "alice", "reset", "on", ">secret"};
        words.insert(words.end(), rights.begin(), rights.end());
        ASSERT_EQ(server_.command(words), "OK");
    }
    std::string url_of_user() const {
        return "redis://alice:secret@127.0.0.1:" + std::to_string(server_.port()) +
               GetParam().parameters();
    }
    std::string resource() const {
        return GetParam().is_foreign() ? "orders/1" : "holdfast/orders/1";
    }
    Contender contender() const { return PortUser::contender(resource()); }
    Contender reader() const {
        Contender one = contender();
        one.weight = 1;
        one.form = Form::read_write;
        one.lease = 20s;
        return one;
    }
    bool has_shares() const { return GetParam().name != "plain"; }

    /// Whatever is in the server, comparable; the fences of locks are for ever new.
    std::string everything() const {
        auto keys = keys_of(server_);
        std::ranges::sort(keys);
        std::string all_of_it;
        for (const auto& key : keys) {
            if (counts_fences(key)) continue;
            const bool lasting = server_.command({"PTTL", key}) == "-1";
            all_of_it += key + (lasting ? " for ever" : "") + "=" + server_.command({"DUMP", key});
        }
        return all_of_it;
    }

    /// A verb that is refused has changed nothing.
    template <class Verb>
    void attempt(const std::string& what, Verb verb) {
        const std::string before = everything();
        const auto result = verb();
        if (result.ok()) return;
        refusals_.push_back(what + ": " + result.failure().sentence);
        EXPECT_EQ(result.failure().code, errc::bad_configuration) << refusals_.back();
        EXPECT_EQ(everything(), before) << refusals_.back();
    }

    /// All verbs of the user, with what an almighty one has put there before.
    void use_all_verbs() {
        const PortUser user(url_of_user());
        const PortUser other(server_.url() + GetParam().parameters());
        take_and_give_back(user);
        wait_and_claim(user, other);
        if (has_shares()) share(user, other);
        attempt("inspect", [&] { return user.store().inspect(resource()).get(); });
        server_.flush();
    }
    void take_and_give_back(const PortUser& user) {
        const Contender one = contender();
        attempt("enter", [&] { return user.enter(one); });
        attempt("enter again", [&] { return user.enter(one); });
        const Ticket ticket{one.resource, one.nonce, "x"};
        attempt("renew", [&] { return user.store().renew({&ticket, 1}, long_lease).get(); });
        attempt("standing", [&] { return user.store().standing(ticket).get(); });
        attempt("leave", [&] { return user.leave(ticket); });
        attempt("leave unheard", [&] { return user.leave({one.resource, one.nonce, {}}); });
    }
    void wait_and_claim(const PortUser& user, const PortUser& other) {
        const Ticket holder = other.enter(contender()).value().front().ticket;
        const Contender one = contender();
        attempt("enter behind", [&] { return user.enter(one); });
        const Ticket ticket{one.resource, one.nonce, "x"};
        attempt("standing behind", [&] { return user.store().standing(ticket).get(); });
        attempt("renew behind", [&] { return user.store().renew({&ticket, 1}, 20s).get(); });
        const Contender another = contender();
        ASSERT_TRUE(other.enter(another).ok());
        const Contender brief = contender();
        attempt("enter last", [&] { return user.enter(brief); });
        attempt("leave waiting", [&] { return user.leave({brief.resource, brief.nonce, "x"}); });
        ASSERT_TRUE(other.leave({another.resource, another.nonce, "x"}).ok());
        ASSERT_TRUE(other.leave(holder).ok());
        attempt("claim", [&] { return user.store().renew({&ticket, 1}, 20s).get(); });
        const Ticket third = other.enter(contender()).value().front().ticket;
        attempt("hand over", [&] { return user.leave(ticket); });
        ASSERT_TRUE(other.leave(third).ok());
        server_.flush();
    }
    void share(const PortUser& user, const PortUser& other) {
        const Ticket first = other.enter(reader()).value().front().ticket;
        const Contender one = reader();
        attempt("enter beside", [&] { return user.enter(one); });
        const Ticket ticket{one.resource, one.nonce, "r"};
        attempt("renew beside", [&] { return user.store().renew({&ticket, 1}, 20s).get(); });
        attempt("leave the other", [&] { return user.leave(ticket); });
        ASSERT_TRUE(other.leave(first).ok());
        attempt("enter alone", [&] { return user.enter(one); });
        attempt("leave alone", [&] { return user.leave(ticket); });
        server_.flush();
    }

    void expect_nothing_is_half_written(std::vector<std::string> rights,
                                        const std::string& missing) {
        SCOPED_TRACE("without " + missing);
        std::erase(rights, missing);
        make_user(rights);
        use_all_verbs();
    }

    RedisServer server_;
    std::vector<std::string> refusals_;
};
HOLDFAST_FOR_EACH_REDIS_LAYOUT(RedisRights);

TEST_P(RedisRights, WhatTheDocumentationListsIsEnoughForEveryVerb) {
    make_user(rights());
    use_all_verbs();
    EXPECT_EQ(testing::PrintToString(refusals_), "{}");
}

TEST_P(RedisRights, WhatTheDocumentationListsIsEnoughToWaitAndBeWoken) {
    make_user(rights());
    const Client ours = connect(url_of_user());
    auto holder = connect(server_.url() + GetParam().parameters()).mutex("orders").acquire();
    const auto counting = std::make_shared<Counting>();
    const Client waiting_client = connect(url_of_user(), {.observer = counting});
    Acquiring waiting(waiting_client, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return counting->waits == 1; }));
    ASSERT_TRUE(await([&] {
        return server_.command({"CLIENT", "LIST", "TYPE", "pubsub"}).find("user=alice") !=
               std::string::npos;
    }));
    holder.release();
    EXPECT_TRUE(waiting.get().held());
}

TEST_P(RedisRights, WithoutOneOfThemNothingIsHalfWritten) {
    for (const std::string& missing : rights()) {
        if (missing == "+echo") continue;  // without it there is no connection
        expect_nothing_is_half_written(rights(), missing);
    }
}

TEST_P(RedisRights, WithoutFunctionsAndOneOfThemNothingIsHalfWritten) {
    for (const std::string& missing : rights_without_functions()) {
        // Without these there are no scripts at all then.
        if (missing == "+eval" || missing == "+evalsha" || missing == "+echo") continue;
        expect_nothing_is_half_written(rights_without_functions(), missing);
    }
}

TEST_P(RedisRights, NoneOfThoseForFunctionsIsNeeded) {
    for (const std::string missing : {"+fcall", "+function|load"}) {
        SCOPED_TRACE("without " + missing);
        server_.command({"FUNCTION", "FLUSH"});
        server_.command({"SCRIPT", "FLUSH"});
        auto some = rights();
        std::erase(some, missing);
        make_user(some);
        use_all_verbs();
        EXPECT_EQ(testing::PrintToString(refusals_), "{}");
    }
}

TEST_P(RedisRights, ThoseOfBeforeThereWereFunctionsAreEnoughForEveryVerb) {
    server_.command({"SCRIPT", "FLUSH"});
    make_user(rights_without_functions());
    use_all_verbs();
    EXPECT_EQ(testing::PrintToString(refusals_), "{}");
}

/// From one client to the other, and looked at.
void hand_over(const Client& ours, const Client& theirs) {
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    Acquiring waiting(theirs, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return waiters_of(ours, "orders") == 1; }));
    ASSERT_EQ(hold.release(), Released::in_time);
    EXPECT_GT(waiting.get().fence(), hold.fence());
}

TEST(RedisRightsWithSentinels, WhatTheDocumentationListsIsEnoughAlsoForAFailover) {
    RedisSentinels servers;
    std::string sentinels;
    for (std::size_t i = 0; i < RedisSentinels::size; ++i) {
        ASSERT_EQ(servers.server(i).command(making_user("+role")), "OK");
        RedisSentinel& sentinel = servers.sentinel(i);
        ASSERT_EQ(sentinel.command({"ACL", "SETUSER", "bob", "reset", "on", ">hidden",
                                    "+sentinel|master", "+sentinel|get-master-addr-by-name",
                                    "+subscribe", "+ping", "&+switch-master"}),
                  "OK");
        sentinels += (sentinels.empty() ? "" : ",") + sentinel.address();
    }
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "password") << "hidden\n";
    const std::string url = "redis+sentinel://alice:secret@" + sentinels + "/" +
                            RedisSentinels::master_name + "?request_timeout=60s&sentinel_user=bob" +
                            "&sentinel_password_file=" + (folder.path() / "password").string();
    const Client ours = connect(url);
    hand_over(ours, connect(url));
    servers.fail_over();
    hand_over(ours, connect(url));
}

TEST(RedisRightsWithReplicas, WhatTheDocumentationListsIsEnoughAndWithoutOneOfThemThatIsTold) {
    Replicated servers;
    const auto use = [&] {
        const Client ours =
            connect("redis://alice:secret@127.0.0.1:" + std::to_string(servers.master().port()) +
                    "?replicas=all&request_timeout=60s");
        ours.mutex("orders").acquire().release();
    };
    for (const std::string missing : {"role", "info", "wait"}) {
        ASSERT_EQ(servers.master().command(making_user("+role +info +wait")), "OK");
        use();
        servers.master().command({"ACL", "SETUSER", "alice", "-" + missing});
        EXPECT_EQ(error_of(use).code(), errc::bad_configuration) << missing;
        // What was not confirmed may be there still.
        servers.master().flush();
    }
}

TEST(RedisRightsInACluster, WhatTheDocumentationListsIsEnoughAlsoForASlotThatMoves) {
    RedisCluster servers;
    for (std::size_t i = 0; i < RedisCluster::size; ++i) {
        ASSERT_EQ(
            servers.server(i).command(making_user("+cluster|info +cluster|slots +cluster|nodes "
                                                  "+asking")),
            "OK");
    }
    std::string url = servers.url("request_timeout=60s");
    url.insert(url.find("//") + 2, "alice:secret@");
    const Client ours = connect(url);
    hand_over(ours, connect(url));
    const std::string key = line_key("holdfast/orders");
    RedisServer& from = servers.server_of(key);
    servers.move_slot(key, &from == &servers.server(0) ? servers.server(1) : servers.server(0));
    hand_over(ours, connect(url));
}

}  // namespace
}  // namespace holdfast::test
