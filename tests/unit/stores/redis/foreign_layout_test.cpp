#include <gtest/gtest.h>

#include "stores/redis/layout.hpp"

namespace holdfast::redis {
namespace {

using State = Standing::State;
using Whom = scripted::News::Whom;

Reply text(std::string value) {
    return {.kind = Reply::Kind::text, .text = std::move(value)};
}
Reply invalidated(Reply keys) {
    return {.kind = Reply::Kind::array,
            .elements = {text("message"), text("__redis__:invalidate"), std::move(keys)}};
}

TEST(AForeignLayout, SearchesForTheTextItself) {
    const auto layout = plain_layout();
    EXPECT_EQ(layout->search("orders/42").value().pattern, "orders/42*");
    EXPECT_EQ(layout->search("a*b?c[d]e\\f^g").value().pattern, "a\\*b\\?c\\[d\\]e\\\\f\\^g*");
    EXPECT_FALSE(layout->search("").ok());
}

TEST(AForeignLayout, TellsWhoeverHasWaitedLongestForAKey) {
    const auto layout = plain_layout();
    const Nonce first{{std::byte{9}}};
    layout->waiters().expect({.resource = "a", .nonce = first, .owner = {}}, 1);
    layout->waiters().expect({.resource = "a", .nonce = {}, .owner = {}}, 1);
    const auto news = layout->news(
        invalidated({.kind = Reply::Kind::array, .elements = {text("a"), text("unknown")}}));
    EXPECT_EQ(news.nonces, std::vector{first});
    EXPECT_EQ(news.standing.state, State::offered);
}

TEST(AForeignLayout, HasEverybodyAskAfterAFlush) {
    const auto layout = plain_layout();
    EXPECT_EQ(layout->news(invalidated({})).whom, Whom::everybody);
    EXPECT_TRUE(layout->news(text("PONG")).nonces.empty());
}

}  // namespace
}  // namespace holdfast::redis
