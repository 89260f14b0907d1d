#include "stores/zookeeper/session.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::zookeeper {
namespace {

TEST(ASession, WatchesAgainInRecordsThatAServerTakes) {
    const Ensemble ensemble{};
    Session session(ensemble);
    constexpr std::size_t count = 1000;
    for (std::size_t i = 0; i < count; ++i) {
        session.watch("/" + std::string(4096, 'x') + std::to_string(i));
    }
    FrameReader reader;
    reader.feed(session.greeting());
    ASSERT_TRUE(reader.next()) << "which session it is";
    std::size_t watched = 0;
    while (const auto record = reader.next()) {
        EXPECT_LT(record->size(), std::size_t{256} << 10U) << "a server's limit is 1 MiB";
        RecordReader fields(*record);
        EXPECT_EQ(fields.number(), watches_number);
        fields.number();
        fields.long_number();
        watched += fields.texts().size();
    }
    EXPECT_EQ(watched, count);
}

}  // namespace
}  // namespace holdfast::zookeeper
