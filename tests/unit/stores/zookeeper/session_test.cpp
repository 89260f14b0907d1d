#include "stores/zookeeper/session.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::zookeeper {
namespace {

TEST(ASession, WatchesAgainInRecordsThatAServerTakes) {
    const Ensemble ensemble{};
    KeptSession session(ensemble, std::chrono::seconds{10});
    constexpr std::size_t count = 1000;
    for (std::size_t i = 0; i < count; ++i) {
        session.watch("/" + std::string(4096, 'x') + std::to_string(i));
    }
    FrameReader reader;
    const auto greeting = session.greeting();
    reader.feed(greeting.bytes);
    ASSERT_TRUE(reader.next()) << "which session it is";
    std::size_t watched = 0;
    std::size_t records = 0;
    while (const auto record = reader.next()) {
        EXPECT_LT(record->size(), std::size_t{256} << 10U) << "a server's limit is 1 MiB";
        ++records;
        RecordReader fields(*record);
        EXPECT_EQ(fields.number(), watches_number);
        fields.number();
        fields.long_number();
        watched += fields.texts().size();
    }
    EXPECT_EQ(watched, count);
    EXPECT_EQ(records, greeting.watches);
}

TEST(ASession, RemembersTheMostThatWasGrantedToOneThatAskedForMore) {
    using namespace std::chrono_literals;
    const Ensemble ensemble{};
    KeptSession session(ensemble, 20s);
    const Moment now{1000s};
    EXPECT_EQ(session.limit(), 0ms) << "nobody was told";
    session.answered({.timeout_ms = 20'000, .id = 1, .password = "x"}, now);
    EXPECT_EQ(session.limit(), 0ms) << "more may be granted";
    session.answered({.timeout_ms = 10'000, .id = 1, .password = "x"}, now);
    session.answered({.timeout_ms = 4'000, .id = 1, .password = "x"}, now);
    EXPECT_EQ(session.timeout(), 4s);
    session.end();
    EXPECT_EQ(session.limit(), 10s) << "another server may grant it again";
}

TEST(ASession, KnowsThoseThatWereBeforeIt) {
    const Ensemble ensemble{};
    KeptSession session(ensemble, std::chrono::seconds{10});
    session.end();
    EXPECT_FALSE(session.is_past(0)) << "there was none";
    session.answered({.timeout_ms = 10'000, .id = 7, .password = "x"}, Moment{});
    EXPECT_FALSE(session.is_past(7));
    session.end();
    EXPECT_TRUE(session.is_past(7));
    session.answered({.timeout_ms = 10'000, .id = 8, .password = "x"}, Moment{});
    EXPECT_TRUE(session.is_past(7));
    EXPECT_FALSE(session.is_past(8));
}

}  // namespace
}  // namespace holdfast::zookeeper
