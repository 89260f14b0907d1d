#include "stores/sql/answers.hpp"

#include <gtest/gtest.h>

#include "port/unanswered.hpp"

namespace holdfast::sql {
namespace {

using State = Standing::State;
using namespace std::chrono_literals;

const Calls ours{Tables::holdfast, "client"};
const Calls shared{Tables::shedlock, "client"};
const std::string nonce(32, 'a');

Contender contender() {
    return {.resource = "orders", .nonce = {}, .owner = "somebody", .weight = all, .capacity = all};
}

Result<Standing> standing_of(std::vector<std::string> row) {
    return Answers("server", ours).left({.rows = {std::move(row)}});
}

TEST(SqlAnswers, StatesAreReadWithWhatBelongsToThem) {
    EXPECT_EQ(standing_of({"0", "0", "0", "-1"}).value().state, State::gone);
    EXPECT_EQ(standing_of({"2", "7", "0", "-1"}).value().state, State::offered);
    EXPECT_EQ(standing_of({"3", "7", "9007199254740990", "-1"}).value().fence, 9007199254740990U);
    EXPECT_EQ(standing_of({"1", "7", "0", "1500"}).value().look_again, 1500ms);
    EXPECT_FALSE(standing_of({"1", "7", "0", "-1"}).value().look_again);
}

TEST(SqlAnswers, OneWhoseRowIsLockedWasNotAnsweredFor) {
    const auto standings =
        Answers("server", ours)
            .standings({.rows = {{"3", "7", "9", "-1"}, {"4", "0", "0", "-1"}}}, 2);
    ASSERT_TRUE(standings.ok());
    EXPECT_EQ(standings.value()[0].state, State::admitted);
    EXPECT_TRUE(is_unanswered(standings.value()[1]));
}

TEST(SqlAnswers, TheServersClockComesWithWhatDoesNotWait) {
    EXPECT_EQ(standing_of({"3", "7", "9", "1500"}).value().server_clock, 1500us);
    EXPECT_EQ(standing_of({"0", "0", "0", "1500"}).value().server_clock, 1500us);
    EXPECT_FALSE(standing_of({"1", "7", "0", "1500"}).value().server_clock);
    EXPECT_FALSE(standing_of({"3", "7", "9", "-1"}).value().server_clock);
}

TEST(SqlAnswers, WhatNoProcedureOfOursAnswersIsToldAsSuch) {
    for (const std::vector<std::string>& row :
         {std::vector<std::string>{}, {"3"}, {"9", "0", "0", "0"}, {"conflict"}}) {
        EXPECT_EQ(standing_of(row).failure().code, errc::corrupt);
    }
}

TEST(SqlAnswers, RefusalsAreSentences) {
    const Contender one = contender();
    const auto code_of = [&](std::vector<std::string> row) {
        return Answers("server", ours)
            .entries({.rows = {std::move(row)}}, {&one, 1})
            .failure()
            .code;
    };
    EXPECT_EQ(code_of({"conflict", "3", "f"}), errc::conflict);
    EXPECT_EQ(code_of({"deadlock"}), errc::deadlock);
    EXPECT_EQ(code_of({"withdrawn"}), errc::cancelled);
    EXPECT_EQ(code_of({"fence", "9007199254740991"}), errc::corrupt);
}

TEST(SqlAnswers, LinesOfTheOtherLayoutAreNotShown) {
    const Reply reply{.rows = {{"orders", "1", "f", "holder", nonce, "me", "1", "5", "900", "host",
                                "7", "30", "1"},
                               {"%shedlock/report", "1", "b", "holder", nonce, "me", "1", "5",
                                "900", "h", "7", "3", "1"},
                               {"%shedlock=7461736b", "1", "b", "holder", std::string(32, '0'),
                                "78", "1", "0", "9", "", "0", "3", "0"}}};
    const auto own = Answers("server", ours).lines(reply).value();
    ASSERT_EQ(own.size(), 1U);
    EXPECT_EQ(own[0].resource, "orders");
    const auto theirs = Answers("server", shared).lines(reply).value();
    ASSERT_EQ(theirs.size(), 2U);
    EXPECT_EQ(theirs[0].resource, "report");
    EXPECT_FALSE(theirs[0].holders[0].foreign);
    EXPECT_EQ(theirs[1].resource, "task");
    EXPECT_EQ(theirs[1].holders[0].owner, "x");
    EXPECT_TRUE(theirs[1].holders[0].foreign);
}

TEST(SqlCalls, ASharedNameGoesAsDigitsToo) {
    const Ticket ticket{.resource = "a b", .nonce = {}, .place = "1"};
    EXPECT_EQ(ours.standing(ticket).rows[0][0], "a%20b");
    const Call call = shared.standing(ticket);
    EXPECT_TRUE(call.shared);
    EXPECT_EQ(call.rows[0].front(), "%shedlock/a%20b");
    EXPECT_EQ(call.rows[0].back(), "612062");
    EXPECT_TRUE(shared.objection_to(std::string(65, 'x')));
    EXPECT_FALSE(ours.objection_to(std::string(65, 'x')));
}

}  // namespace
}  // namespace holdfast::sql
