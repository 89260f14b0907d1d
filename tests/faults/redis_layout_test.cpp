#include "faults/redis_faults.hpp"
#include "stores/scripted/words.hpp"
#include "support/soak.hpp"

/// What our layout leaves in the server, and what becomes of it when somebody else changes it.
namespace holdfast::test {
namespace {

using State = Standing::State;

constexpr std::size_t bucket_count = 4096;

class RedisLayout2 : public testing::Test {
protected:
    std::size_t keys() const { return std::stoul(server_.command({"DBSIZE"})); }
    std::size_t memory() const {
        const std::string text = server_.command({"INFO", "memory"});
        const std::string_view before = "used_memory:";
        return std::stoul(text.substr(text.find(before) + before.size()));
    }
    static Contender reader() {
        Contender one = PortUser::contender();
        one.weight = 1;
        return one;
    }
    Ticket enter(const Contender& one) const { return user_.enter(one).value().front().ticket; }

    const RedisServer server_;
    const PortUser user_{server_.url()};
};

TEST_F(RedisLayout2, NamesThatWereUsedOnceLeaveNothingButTheFencesOfTheirBuckets) {
    const Client client = connect(server_.url());
    client.mutex("first").acquire().release();
    const std::size_t before = memory();
    const int count = rounds(5'000, 100'000);
    for (int i = 0; i < count; ++i) client.mutex("job/" + std::to_string(i)).acquire().release();
    EXPECT_LE(keys(), bucket_count);
    EXPECT_LE(memory(), before + 2 * 1024 * 1024);
    const Hold hold = client.mutex("job/7").acquire();
    EXPECT_LE(keys(), bucket_count + 1);
}

TEST_F(RedisLayout2, ALineThatWasContendedForLeavesNothing) {
    const Ticket holder = enter(PortUser::contender());
    const Ticket waiter = enter(PortUser::contender());
    ASSERT_TRUE(user_.leave(holder).ok());
    EXPECT_EQ(user_.renew(waiter), State::admitted);
    const Ticket last = enter(PortUser::contender());
    ASSERT_TRUE(user_.leave(last).ok());
    ASSERT_TRUE(user_.leave(waiter).ok());
    const Ticket one = enter(reader()), another = enter(reader()), third = enter(reader());
    for (const Ticket& ticket : {another, one, third}) ASSERT_TRUE(user_.leave(ticket).ok());
    EXPECT_EQ(server_.command({"KEYS", "*"}), "[" + fence_key("orders") + "]");
}

TEST_F(RedisLayout2, AHolderWhoseLineWasDeletedIsGoneAlsoWhenOthersHaveComeSince) {
    const Ticket one = enter(reader()), another = enter(reader());
    ASSERT_EQ(server_.command({"DEL", line_key("orders")}), "1");
    const Ticket writer = enter(PortUser::contender());
    EXPECT_EQ(user_.renew(one), State::gone);
    ASSERT_TRUE(user_.leave(writer).ok());
    const Ticket third = enter(reader()), fourth = enter(reader());
    EXPECT_EQ(user_.renew(one), State::gone);
    EXPECT_EQ(user_.renew(another), State::gone);
    EXPECT_EQ(user_.renew(third), State::admitted);
    EXPECT_EQ(user_.renew(fourth), State::admitted);
}

TEST_F(RedisLayout2, AHolderThatWasDeletedAmongOthersIsGoneAndNobodyIsLetInBesideThem) {
    const Contender deleted = reader();
    enter(deleted);
    const Ticket other = enter(reader());
    ASSERT_EQ(
        server_.command({"HDEL", line_key("orders") + "#holders", scripted::hex_of(deleted.nonce)}),
        "1");
    Contender writer = PortUser::contender();
    writer.patience = Patience::none;
    EXPECT_EQ(user_.enter(writer).value().front().standing.state, State::gone);
    EXPECT_EQ(user_.renew({deleted.resource, deleted.nonce, "1"}), State::gone);
    EXPECT_EQ(user_.renew(other), State::admitted);
}

TEST_F(RedisLayout2, APlantedFenceIsRefusedAndLeftAlone) {
    for (const std::string planted : {"9007199254740992", "9007199254740991", "another's"}) {
        server_.command({"SET", fence_key("orders"), planted});
        const auto entries = user_.enter(PortUser::contender());
        ASSERT_FALSE(entries.ok());
        EXPECT_EQ(entries.failure().code, errc::corrupt) << entries.failure().sentence;
        EXPECT_EQ(server_.command({"GET", fence_key("orders")}), planted);
        EXPECT_EQ(server_.command({"EXISTS", line_key("orders")}), "0");
    }
}

TEST_F(RedisLayout2, AFenceAheadOfTheClockIsFollowedByTheNextOne) {
    server_.command({"SET", fence_key("orders"), "8007199254740991"});
    const auto entries = user_.enter(PortUser::contender());
    EXPECT_EQ(entries.value().front().standing.fence, 8007199254740992U);
    EXPECT_EQ(server_.command({"GET", fence_key("orders")}), "8007199254740992");
    EXPECT_NE(server_.command({"PTTL", fence_key("orders")}), "-1");
}

TEST_F(RedisLayout2, LocksOfTheFirstLayoutAreToldByAListing) {
    server_.command({"HSET", "{holdfast/orders}", "fence", "1", "expiry", "2"});
    const Client client = connect(server_.url());
    const Error error = error_of([&] { return client.inspect(); });
    EXPECT_EQ(error.code(), errc::bad_configuration);
    expect_says(error, "an older holdfast");
}

}  // namespace
}  // namespace holdfast::test
