#include "stores/redis/replicas.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace holdfast::inline v0::redis {
namespace {

Reply reply_of(std::string_view bytes) {
    ReplyReader reader;
    reader.feed(bytes);
    return reader.next().value();
}

TEST(ReplicasThatMustConfirm, AreAsManyAsAreAskedForAndOneAtTheLeast) {
    EXPECT_EQ(needed(Replicas::none, 3), 0U);
    EXPECT_EQ(needed(Replicas::one, 3), 1U);
    EXPECT_EQ(needed(Replicas::majority, 1), 1U);
    EXPECT_EQ(needed(Replicas::majority, 2), 2U);
    EXPECT_EQ(needed(Replicas::majority, 3), 2U);
    EXPECT_EQ(needed(Replicas::all, 3), 3U);
    for (const auto asked : {Replicas::one, Replicas::majority, Replicas::all}) {
        EXPECT_EQ(needed(asked, 0), 1U) << "there may be one that was never seen";
    }
}

TEST(ReplicasThatMustConfirm, AreNeededWhereAReplyMakesAHolder) {
    EXPECT_TRUE(admits(reply_of(":1790000000123456\r\n"), 4)) << "a fence alone";
    EXPECT_TRUE(admits(reply_of("*4\r\n:3\r\n:1\r\n:17\r\n:-1\r\n"), 4));
    EXPECT_TRUE(admits(reply_of("*6\r\n:1\r\n:0\r\n:9\r\n:3\r\n:17\r\n:-1\r\n"), 3))
        << "the second";
    EXPECT_FALSE(admits(reply_of("*4\r\n:1\r\n:3\r\n:3\r\n:3\r\n"), 4)) << "it waits";
    EXPECT_FALSE(admits(reply_of("*2\r\n$8\r\nconflict\r\n:3\r\n"), 4));
    EXPECT_FALSE(admits(reply_of("*2\r\n:3\r\n:17\r\n"), 0)) << "it leaves";
}

TEST(ReplicasThatMustConfirm, AreCountedByTheMasterThatTheyFollow) {
    EXPECT_EQ(replicas_in(reply_of("*3\r\n$6\r\nmaster\r\n:7\r\n*0\r\n")), 0U);
    const std::string_view one = "*3\r\n$9\r\n127.0.0.1\r\n$4\r\n7001\r\n$1\r\n7\r\n";
    const std::string_view other = "*3\r\n$9\r\n127.0.0.1\r\n$4\r\n7002\r\n$1\r\n7\r\n";
    const std::string master = "*3\r\n$6\r\nmaster\r\n:7\r\n*3\r\n";
    EXPECT_EQ(
        replicas_in(reply_of(master + std::string(one) + std::string(other) + std::string(one))),
        2U)
        << "one of them by two connections, of which the first is dead";
    EXPECT_EQ(replicas_in(reply_of("*5\r\n$5\r\nslave\r\n$1\r\nh\r\n:1\r\n$9\r\nconnected"
                                   "\r\n:7\r\n")),
              0U);
}

}  // namespace
}  // namespace holdfast::inline v0::redis
