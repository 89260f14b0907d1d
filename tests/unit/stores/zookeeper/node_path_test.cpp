#include "stores/zookeeper/node_path.hpp"

#include <gtest/gtest.h>

#include <set>

namespace holdfast::zookeeper {
namespace {

using namespace std::string_literals;

const Paths paths("");

TEST(APath, IsTheNameWhereAServerTakesIt) {
    EXPECT_EQ(paths.of("orders"), "/orders");
    EXPECT_EQ(paths.of("orders/42"), "/orders/42");
    EXPECT_EQ(paths.of("my locks/a:b.c_d-e"), "/my locks/a:b.c_d-e");
    EXPECT_EQ(paths.of("stra\xc3\x9f"
                       "e"),
              "/stra\xc3\x9f"
              "e");
    EXPECT_EQ(paths.of("lock-manager"), "/lock-manager") << "nobody locks the root";
}

TEST(APath, IsBelowTheChroot) {
    const Paths below_app("/app/locks");
    EXPECT_EQ(below_app.of("orders"), "/app/locks/orders");
    EXPECT_EQ(below_app.root(), "/app/locks");
    EXPECT_EQ(below_app.resource_of("/app/locks/orders"), "orders");
    EXPECT_EQ(below_app.resource_of("/app/other"), std::nullopt);
    EXPECT_EQ(below_app.of("zookeeper"), "/app/locks/zookeeper");
}

TEST(APath, EscapesWhatAServerRefuses) {
    EXPECT_EQ(paths.of(""), "/~");
    EXPECT_EQ(paths.of("/"), "/~/~");
    EXPECT_EQ(paths.of("a//b"), "/a/~/b");
    EXPECT_EQ(paths.of("."), "/~2E");
    EXPECT_EQ(paths.of("a/.."), "/a/~2E~2E");
    EXPECT_EQ(paths.of("a\0b"s), "/a~00b");
    EXPECT_EQ(paths.of("a\nb\x7f"), "/a~0Ab~7F");
    EXPECT_EQ(paths.of("~"), "/~7E");
    EXPECT_EQ(paths.of("zookeeper"), "/~7Aookeeper") << "the server's own";
    EXPECT_EQ(paths.of("\xff"), "/~FF");
    EXPECT_EQ(paths.of("\xed\xa0\x80"), "/~ED~A0~80") << "half of a pair";
    EXPECT_EQ(paths.of("\xee\x80\x80"), "/~EE~80~80") << "private use";
    EXPECT_EQ(paths.of("\xf0\x9f\x94\x92"), "/~F0~9F~94~92") << "beyond 16 bits";
    EXPECT_EQ(paths.of("\xc2\x80"), "/~C2~80") << "a control character";
    EXPECT_EQ(paths.of("\xc0\xaf"), "/~C0~AF") << "overlong";
}

TEST(APath, HidesWhatOthersWouldTakeForAContenderAheadOfThem) {
    EXPECT_EQ(paths.of("b/0"), "/b/~30");
    EXPECT_EQ(paths.of("b/-x"), "/b/~2Dx");
    EXPECT_EQ(paths.of("b/lock-0"), "/b/~6Cock-0");
    EXPECT_EQ(paths.of("b/x-lock-0000000001"), "/b/x-~6Cock-0000000001");
    EXPECT_EQ(paths.of("b/x__lock__0000000001"), "/b/x~5F_lock__0000000001");
    EXPECT_EQ(paths.of("b/0000000001"), "/b/~30000000001"s.replace(3, 3, "~30"));
    EXPECT_EQ(paths.of("b/0000000001x"), "/b/~30000000001x");
    EXPECT_EQ(paths.of("b/1234567890x"), "/b/~31234567890x");
    EXPECT_EQ(paths.of("b/0000x"), "/b/~30000x") << "ahead of 0001000000";
    EXPECT_EQ(paths.of("b/42"), "/b/42");
    EXPECT_EQ(paths.of("b/2026-11-16"), "/b/2026-11-16");
}

TEST(APath, OfTwoNamesIsNeverTheSame) {
    const std::vector<std::string> parts{"",    "~",   "~7E",     "a",    ".",      "..",
                                         "0",   "00",  "lock-",   "~30",  "ock-",   "zookeeper",
                                         "\0"s, "~00", "\xff",    "~FF",  "%",      "__READ__",
                                         "é",   "-",   "~6Cock-", "LOCK", "~2E~2E", "x"};
    std::set<std::string> seen;
    std::size_t count = 0;
    for (const auto& first : parts) {
        for (const auto& second : parts) {
            for (const std::string& name : {first + "/" + second, first + second}) {
                if (name.empty()) continue;
                const std::string path = paths.of(name);
                EXPECT_EQ(paths.resource_of(path), name) << path;
                seen.insert(name);
                ++count;
            }
        }
    }
    std::set<std::string> different;
    for (const auto& name : seen) different.insert(paths.of(name));
    EXPECT_EQ(different.size(), seen.size());
    EXPECT_GT(count, seen.size()) << "some are the same name";
}

TEST(APath, OfOthersThatWeWouldWriteOtherwiseIsNoResource) {
    EXPECT_EQ(paths.resource_of("/locks/lock-a"), std::nullopt);
    EXPECT_EQ(paths.resource_of("/locks/~zz"), std::nullopt);
    EXPECT_EQ(paths.resource_of("/"), std::nullopt);
}

TEST(APath, HasNodesOnTheWayToIt) {
    EXPECT_EQ(way_to("/a/b/c"), (std::vector<std::string>{"/a", "/a/b", "/a/b/c"}));
    EXPECT_EQ(last_of("/a/b"), "b");
    EXPECT_EQ(below("/", "a"), "/a");
    EXPECT_EQ(below("/a", "b"), "/a/b");
}

}  // namespace
}  // namespace holdfast::zookeeper
