#include "stores/zookeeper/session.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::zookeeper {
namespace {

TEST(ASession, WatchesAgainInRecordsThatAServerTakes) {
    const Ensemble ensemble{};
    Session session(ensemble, std::chrono::seconds{10});
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

}  // namespace
}  // namespace holdfast::zookeeper
