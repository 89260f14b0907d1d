#include "stores/memcached/failures.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace holdfast::memcached {
namespace {

/// In memcached's own words.
TEST(AnErrorOfTheServers, IsToldWithWhatToChange) {
    const net::Address server{.kind = "memcached", .host = "h", .port = 11211};
    for (const auto& [said, part] : {
             std::pair<std::string_view, std::string_view>{"ERROR Too many open connections", "-c"},
             {"SERVER_ERROR out of memory storing object", "-m"},
             {"SERVER_ERROR object too large for cache", "-I"},
             {"CLIENT_ERROR unauthenticated", "password"},
         }) {
        const Failure failure = failure_of(said, server, "");
        EXPECT_EQ(failure.effect, Effect::none) << said;
        EXPECT_NE(failure.sentence.find(part), std::string::npos) << failure.sentence;
    }
}

}  // namespace
}  // namespace holdfast::memcached
