#include "stores/redis/answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using State = Standing::State;

Reply number(std::int64_t value) {
    return {.kind = Reply::Kind::integer, .integer = value};
}
Reply text(std::string value) {
    return {.kind = Reply::Kind::text, .text = std::move(value)};
}
Reply list(std::vector<Reply> elements) {
    return {.kind = Reply::Kind::array, .elements = std::move(elements)};
}
Reply numbers(const std::vector<std::int64_t>& values) {
    std::vector<Reply> elements;
    for (const auto value : values) elements.push_back(number(value));
    return list(std::move(elements));
}

class TheAnswer : public testing::Test {
protected:
    Failure refusal_of(const Reply& reply) {
        const auto result = answers_.entries(reply, contenders_);
        if (!result.ok()) return result.failure();
        ADD_FAILURE() << "it was understood";
        return {};
    }

    const std::string store_ = "redis db:6379";
    const std::unique_ptr<Layout> layout_ = holdfast_layout();
    const Answers answers_{store_, *layout_};
    const std::vector<Contender> contenders_{{.resource = "a", .nonce = {}, .owner = "me"},
                                             {.resource = "b", .nonce = {}, .owner = "me"}};
};

TEST_F(TheAnswer, ToEnterHasAnEntryForEachThatWasLookedAt) {
    const auto both = answers_.entries(numbers({3, 7, 1234, -1, 1, 8, 0, 250}), contenders_);
    ASSERT_TRUE(both.ok());
    ASSERT_EQ(both.value().size(), 2U);
    const auto& [first, second] = std::tie(both.value()[0], both.value()[1]);
    EXPECT_EQ(first.ticket.resource, "a");
    EXPECT_EQ(first.ticket.place, "7");
    EXPECT_EQ(first.standing.state, State::admitted);
    EXPECT_EQ(first.standing.fence, 1234U);
    EXPECT_EQ(second.ticket.place, "8");
    EXPECT_EQ(second.standing.state, State::waiting);
    EXPECT_EQ(second.standing.look_again, 250ms);
    EXPECT_EQ(answers_.entries(numbers({0, 0, 0, -1}), contenders_).value()[0].standing.state,
              State::gone);
}

TEST_F(TheAnswer, ToRenewHasAsManyStandingsAsWereAskedFor) {
    const auto three = answers_.standings(numbers({3, 9, -1, 2, 0, -1, 1, 0, -1}), 3);
    ASSERT_TRUE(three.ok());
    EXPECT_EQ(three.value()[0].state, State::admitted);
    EXPECT_EQ(three.value()[0].fence, 9U);
    EXPECT_EQ(three.value()[1].state, State::offered);
    EXPECT_EQ(three.value()[2].state, State::waiting);
    EXPECT_EQ(three.value()[2].look_again, std::nullopt);
    EXPECT_FALSE(answers_.standings(numbers({3, 9, -1}), 2).ok());
    EXPECT_FALSE(answers_.standings(numbers({3, 9, -1, 3, 9, -1}), 1).ok());
}

TEST_F(TheAnswer, ToRenewTellsTheServersClockWithWhatDoesNotWait) {
    const auto three = answers_.standings(numbers({3, 9, 1500, 0, 0, 1500, 1, 0, 1500}), 3);
    ASSERT_TRUE(three.ok());
    EXPECT_EQ(three.value()[0].server_clock, 1500us);
    EXPECT_EQ(three.value()[1].server_clock, 1500us);
    EXPECT_EQ(three.value()[2].server_clock, std::nullopt);
}

TEST_F(TheAnswer, ToLeaveIsWhereItStood) {
    EXPECT_EQ(answers_.left(number(3)).value().state, State::admitted);
    EXPECT_EQ(answers_.left(number(1)).value().state, State::waiting);
    EXPECT_EQ(answers_.left(number(0)).value().state, State::gone);
    EXPECT_FALSE(answers_.left(number(4)).ok());
    EXPECT_FALSE(answers_.left(number(-1)).ok());
    EXPECT_FALSE(answers_.left(numbers({3})).ok());
    EXPECT_FALSE(answers_.left(list({})).ok());
}

TEST_F(TheAnswer, ThatIsAFenceAloneIsOfOneThatIsAdmitted) {
    const Contender one{.resource = "orders", .nonce = {}, .owner = {}};
    const auto entries = answers_.entries(number(1'794'989'513'208'833), {&one, 1});
    ASSERT_EQ(entries.value().size(), 1U);
    EXPECT_EQ(entries.value()[0].ticket.place, "1");
    EXPECT_EQ(entries.value()[0].standing.state, State::admitted);
    EXPECT_EQ(entries.value()[0].standing.fence, 1'794'989'513'208'833U);
    EXPECT_FALSE(answers_.entries(number(999'999'999'999'999), {&one, 1}).ok());
}

TEST_F(TheAnswer, OfAnUnknownStateIsThatItIsGone) {
    EXPECT_EQ(answers_.standings(numbers({4, 9, 9}), 1).value()[0].state, State::gone);
    EXPECT_EQ(answers_.standings(numbers({-1, 9, 9}), 1).value()[0].state, State::gone);
}

TEST_F(TheAnswer, ThatIsNoneOfOursMayHaveHadAnEffect) {
    for (const Reply& reply :
         {Reply{}, text("OK"), list({}), number(3), numbers({3, 1, 2}),
          list({number(3), text("7"), number(1), number(-1)}),
          numbers({3, 1, 1, -1, 3, 1, 1, -1, 3, 1, 1, -1}), list({text("what")}),
          list({text("conflict"), number(0)}), list({text("fence"), number(0)})}) {
        const Failure failure = refusal_of(reply);
        EXPECT_EQ(failure.code, errc::corrupt);
        EXPECT_EQ(failure.effect, Effect::unknown);
        EXPECT_THAT(failure.sentence, HasSubstr("redis db:6379"));
    }
}

TEST_F(TheAnswer, MayBeThatAResourceIsUsedOtherwise) {
    const Failure failure = refusal_of(list({text("conflict"), number(1), number(5), text("b")}));
    EXPECT_EQ(failure.code, errc::conflict);
    EXPECT_EQ(failure.effect, Effect::none);
    EXPECT_EQ(failure.sentence,
              "it is in use as 5 permits, barging, and asked for as an exclusive or shared lock, "
              "fifo; all its users must agree");
}

TEST_F(TheAnswer, MayBeARefusal) {
    EXPECT_EQ(refusal_of(list({text("deadlock"), number(0)})).code, errc::deadlock);
    EXPECT_EQ(refusal_of(list({text("withdrawn"), number(0)})).code, errc::cancelled);
    const Failure planted = refusal_of(list({text("fence"), number(0), text("9007199254740991")}));
    EXPECT_EQ(planted.code, errc::corrupt);
    EXPECT_EQ(planted.effect, Effect::none);
    EXPECT_THAT(planted.sentence, HasSubstr("'9007199254740991'"));
}

TEST_F(TheAnswer, MayNameNobodyWhoAsked) {
    EXPECT_EQ(refusal_of(list({text("deadlock"), number(7)})).code, errc::deadlock);
    EXPECT_EQ(refusal_of(list({text("deadlock"), number(-1)})).code, errc::deadlock);
    EXPECT_EQ(refusal_of(list({text("deadlock")})).code, errc::deadlock);
}

TEST_F(TheAnswer, OfALayoutOfOthersAlwaysSaysWhenToLook) {
    const auto plain = plain_layout();
    const Answers answers(store_, *plain);
    for (const std::int64_t left :
         {std::int64_t{-2}, std::int64_t{-1}, std::int64_t{0}, std::int64_t{700},
          std::int64_t{86'400'000}, std::numeric_limits<std::int64_t>::max()}) {
        const auto look = answers.standings(numbers({1, 0, left}), 1).value()[0].look_again;
        ASSERT_TRUE(look) << left;
        EXPECT_GT(*look, 0ns) << left;
        EXPECT_LE(*look, 1250ms) << left;
    }
}

}  // namespace
}  // namespace holdfast::redis
