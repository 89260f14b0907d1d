#include <gtest/gtest.h>

#include <holdfast/holdfast.hpp>
#include <memory>
#include <string>
#include <vector>

#include "servers/redis_server.hpp"
#include "stores/open_store.hpp"

/// Holders that took the lock by another library: what is known of them, and how they are ended.
namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

class ForeignHolders : public testing::TestWithParam<std::string> {
protected:
    std::string url() const { return server_.url() + "?layout=" + GetParam(); }

    /// As the other library takes it; `who` tells its holders apart.
    void hold_by_other(const std::string& name, const std::string& who) const {
        if (GetParam() == "plain") {
            server_.command({"SET", name, who, "PX", "60000"});
        } else {
            server_.command({"HSET", name, "8743c9c0-0795-4907-87fd-" + who + ":57", "1"});
            server_.command({"PEXPIRE", name, "60000"});
        }
    }
    bool exists(const std::string& name) const { return server_.command({"EXISTS", name}) == "1"; }

    RedisServer& server_ = RedisServer::shared();
    const int flushed_ = (server_.flush(), 0);
    Client client_ = connect(url());
};
INSTANTIATE_TEST_SUITE_P(Layouts, ForeignHolders, testing::Values("plain", "redisson"),
                         [](const auto& about) { return about.param; });

TEST_P(ForeignHolders, AreListedAsSuchWithoutAFence) {
    hold_by_other("orders", "theirs");
    const auto lines = client_.inspect("orders");
    ASSERT_EQ(lines.size(), 1U);
    ASSERT_EQ(lines[0].holders.size(), 1U);
    const ContenderInfo& holder = lines[0].holders[0];
    EXPECT_TRUE(holder.foreign);
    EXPECT_EQ(holder.fence, 0U);
    EXPECT_EQ(holder.pid, 0);
    EXPECT_FALSE(holder.age);
    EXPECT_GT(holder.lease_left, 50s);
}

/// Of one that reads very often, and whose first reads are over while the last one is not.
TEST(ForeignReaders, KeepTheLockHoweverOftenTheyReadWhenOneOfOursLeaves) {
    RedisServer& server = RedisServer::shared();
    server.flush();
    const std::string theirs = "8743c9c0-0795-4907-87fd-6c719a6b4586:57";
    server.command({"HSET", "orders", "mode", "read", theirs, "65"});
    server.command({"PEXPIRE", "orders", "60000"});
    server.command({"SET", "{orders}:" + theirs + ":rwlock_timeout:65", "1", "PX", "60000"});
    const Client client = connect(server.url() + "?layout=redisson");
    client.shared_mutex("orders").acquire_shared().release();
    const auto beside_a_reader = client.shared_mutex("orders").try_acquire();
    EXPECT_FALSE(beside_a_reader);
}

TEST_P(ForeignHolders, AreNotOurs) {
    const Hold hold = client_.mutex("orders").acquire();
    const auto lines = client_.inspect("orders");
    ASSERT_EQ(lines.size(), 1U);
    ASSERT_EQ(lines[0].holders.size(), 1U);
    EXPECT_FALSE(lines[0].holders[0].foreign);
    EXPECT_EQ(lines[0].holders[0].fence, hold.fence());
}

TEST_P(ForeignHolders, AreEndedByFenceNought) {
    hold_by_other("orders", "theirs");
    hold_by_other("orders/2", "theirs");
    EXPECT_FALSE(client_.break_hold("orders", 1));
    EXPECT_TRUE(exists("orders"));
    EXPECT_TRUE(client_.break_hold("orders", 0));
    EXPECT_FALSE(exists("orders"));
    EXPECT_FALSE(client_.break_hold("orders", 0));
    EXPECT_TRUE(exists("orders/2"));
}

TEST_P(ForeignHolders, FenceNoughtEndsNoneOfOurs) {
    const Hold hold = client_.mutex("orders").acquire();
    EXPECT_FALSE(client_.break_hold("orders", 0));
    EXPECT_TRUE(exists("orders"));
}

TEST_P(ForeignHolders, ATicketOfOneDoesNotEndTheNext) {
    const auto store = open_store(url()).store;
    hold_by_other("orders", "first");
    const auto lines = store->inspect("orders").get();
    ASSERT_TRUE(lines.ok());
    ASSERT_EQ(lines.value().size(), 1U);
    server_.command({"DEL", "orders"});
    hold_by_other("orders", "second");
    const auto stood = store->leave(lines.value()[0].holders.at(0).ticket).get();
    ASSERT_TRUE(stood.ok());
    EXPECT_EQ(stood.value().state, Standing::State::gone);
    EXPECT_TRUE(exists("orders"));
}

TEST_P(ForeignHolders, OurOwnKeysAreNoNamesOfLocks) {
    for (const std::string name : {"holdfast_", "holdfast_fence:{orders}", "holdfast_holds:x"}) {
        auto mutex = client_.mutex(name);
        try {
            static_cast<void>(mutex.try_acquire());
            ADD_FAILURE() << name;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), errc::invalid_argument) << error.what();
            EXPECT_EQ(error.effect(), Effect::none);
        }
    }
    EXPECT_EQ(server_.command({"DBSIZE"}), "0");
    const auto one_like_them = client_.mutex("holdfast-").try_acquire();
    EXPECT_TRUE(one_like_them);
}

TEST_P(ForeignHolders, OurOwnKeysAreNotListed) {
    const Hold hold = client_.mutex("orders").acquire();
    EXPECT_TRUE(client_.inspect("holdfast_").empty());
}

}  // namespace

}  // namespace holdfast::test
