#include "faults/server_faults.hpp"
#include "servers/zookeeper_server.hpp"

/// Who may use a lock, and over what it is reached.
namespace holdfast::test {
namespace {

class ZookeeperRights : public testing::Test {
protected:
    static LockOptions brief() { return {.lease = 1s}; }
    std::string url(const std::string& parameters) const {
        return server_.url() + "/rights?tick=500ms" + parameters;
    }

    ZookeeperServer& server_ = ZookeeperServer::shared();
};

TEST_F(ZookeeperRights, NodesBelongToWhoMadeThem) {
    const auto alice = connect(url("&auth=alice:secret"));
    const Hold hold = alice.mutex("orders", brief()).acquire();
    const auto also_alice = connect(url("&auth=alice:secret"));
    const auto busy = also_alice.mutex("orders", brief()).try_acquire();
    EXPECT_FALSE(busy);
    for (const char* user : {"", "&auth=alice:wrong", "&auth=bob:secret"}) {
        const auto other = connect(url(user));
        const auto refused = error_of([&] { return other.mutex("orders", brief()).try_acquire(); });
        EXPECT_EQ(refused.code(), errc::bad_configuration);
        expect_says(refused, "NoAuth");
        EXPECT_EQ(std::string_view(refused.what()).find("secret"), std::string_view::npos);
    }
    EXPECT_TRUE(hold.held());
}

TEST_F(ZookeeperRights, AContainerOfAnotherUsersIsToldAtOnce) {
    const auto alice = connect(url("&auth=alice:secret"));
    const Hold hold = alice.mutex("hers/first", brief()).acquire();
    const auto bob = connect(url("&auth=bob:secret"));
    const auto start = Clock::now();
    const auto refused = error_of([&] { return bob.mutex("hers/new", brief()).acquire(); });
    EXPECT_EQ(refused.code(), errc::bad_configuration);
    expect_says(refused, "NoAuth");
    EXPECT_LT(Clock::now() - start, 3s) << "not after request_timeout";
}

TEST_F(ZookeeperRights, AnotherUsersBargingLockIsRefusedAtOnce) {
    const auto commons = [&](const std::string& user) {
        return connect(server_.url() + "/commons?tick=500ms" + user);
    };
    const LockOptions barging{.lease = 1s, .fairness = Fairness::barging};
    const auto nobody = commons("");
    const Hold keeps_the_way_open = nobody.mutex("team/open", brief()).acquire();
    const auto alice = commons("&auth=alice:secret");
    const Hold hold = alice.mutex("team/barged", barging).acquire();
    const auto bob = commons("&auth=bob:secret");
    const auto start = Clock::now();
    const auto refused = error_of([&] { return bob.mutex("team/barged", barging).try_acquire(); });
    EXPECT_EQ(refused.code(), errc::bad_configuration);
    EXPECT_LT(Clock::now() - start, 5s);
    EXPECT_TRUE(hold.held());
}

TEST_F(ZookeeperRights, AHolderWhoseNodeWeMayNotReadIsWaitedForQuietly) {
    const ZookeeperServer server;
    const auto url_of = [&](const std::string& user) {
        return "zookeeper://" + server.address() + "?tick=500ms&prefix=" + user;
    };
    // The container is everybody's, her node in it is her own.
    const auto nobody = connect(url_of(""));
    const Hold keeps_the_way_open = nobody.mutex("orders/below", {.lease = 10s}).acquire();
    const auto alice = connect(url_of("&auth=alice:secret"));
    auto hold = alice.mutex("orders", {.lease = 10s}).acquire();
    Acquiring waiter(nobody, "orders", {.lease = 10s});
    ASSERT_TRUE(await([&] { return alice.look_at("orders")->waiters.size() == 1; }));
    const auto before = server.measured("packets_received");
    EXPECT_FALSE(waiter.is_over(1s));
    EXPECT_LT(server.measured("packets_received") - before, 50);
    hold.release();
    EXPECT_TRUE(waiter.is_over(2s)) << "before it looks with its renewal";
    EXPECT_TRUE(waiter.get().held());
}

TEST_F(ZookeeperRights, ThePasswordIsNowhereToBeSeen) {
    const auto client = connect(url("&auth=alice:secret"));
    EXPECT_EQ(client.store().find("secret"), std::string::npos) << client.store();
    const Hold hold = client.mutex("shown", brief()).acquire();
    const auto line = client.look_at("shown");
    ASSERT_TRUE(line);
    EXPECT_EQ(line->holders.at(0).owner.find("secret"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::test
