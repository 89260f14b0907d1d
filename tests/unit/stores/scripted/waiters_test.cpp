#include "stores/scripted/waiters.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stores/scripted/words.hpp"

namespace holdfast::scripted {
namespace {

using namespace std::chrono_literals;
using State = Standing::State;

const std::string digits(32, 'a');
const Nonce nonce = nonce_of(digits).value();
const Contender contender{.resource = "r", .nonce = nonce, .owner = {}};
const Ticket ticket{"r", nonce, "1"};

/// What somebody was told.
class Heard {
public:
    LineMoved hear() {
        return [this](const Standing& standing) { states.push_back(standing.state); };
    }
    std::vector<State> states;
};

TEST(APush, NamesItsContender) {
    EXPECT_EQ(news_in(digits + " o").nonces, std::vector{nonce});
    EXPECT_EQ(news_in(digits + " o").standing.state, State::offered);
    EXPECT_EQ(news_in(digits + " g").standing.state, State::gone);
    EXPECT_EQ(news_in(digits + " w 250").standing.look_again, 250ms);
    EXPECT_FALSE(news_in(digits + " w").standing.look_again);
    EXPECT_FALSE(news_in(digits + " w -1").standing.look_again);
    for (const std::string& text :
         {std::string("o"), digits, std::string(32, 'x') + " o", std::string()}) {
        EXPECT_TRUE(news_in(text).nonces.empty()) << text;
    }
}

TEST(Waiters, AreToldOnceWhatWasPushedBeforeTheyWereWatched) {
    Waiters waiters;
    Heard heard;
    waiters.expect(contender, 1);
    waiters.tell(news_in(digits + " w 250"));
    const auto watch = waiters.watch(ticket, heard.hear());
    EXPECT_TRUE(waiters.has_heard_all_in(1, nonce));
    waiters.tell_what_was_kept(nonce);
    waiters.tell_what_was_kept(nonce);
    EXPECT_EQ(heard.states, std::vector{State::waiting});
    waiters.tell(news_in(digits + " o"));
    EXPECT_EQ(heard.states.back(), State::offered);
}

TEST(Waiters, AreNotKeptFromTheirTurnByAPushThatOvertookIt) {
    Waiters waiters;
    Heard heard;
    waiters.expect(contender, 1);
    waiters.tell(news_in(digits + " o"));
    waiters.tell(news_in(digits + " w 250"));
    const auto watch = waiters.watch(ticket, heard.hear());
    waiters.tell_what_was_kept(nonce);
    EXPECT_EQ(heard.states, std::vector{State::offered});
}

TEST(Waiters, HaveMissedWhatWasPushedInAnotherPeriodThanTheirFirstEnters) {
    Waiters waiters;
    Heard heard;
    EXPECT_FALSE(waiters.has_heard_all_in(1, nonce)) << "nobody knows of it";
    waiters.expect(contender, 0);
    const auto watch = waiters.watch(ticket, heard.hear());
    EXPECT_FALSE(waiters.has_heard_all_in(1, nonce)) << "nothing was heard then";
    waiters.forget(nonce);
    waiters.expect(contender, 1);
    waiters.expect(contender, 2);
    EXPECT_FALSE(waiters.has_heard_all_in(2, nonce)) << "the first copy was sent before";
}

TEST(Waiters, AreForgottenWhenTheyAreAdmittedGoneOrLeave) {
    for (const State state : {State::admitted, State::gone}) {
        Waiters waiters;
        waiters.expect(contender, 1);
        waiters.settled(nonce, {.state = State::waiting});
        waiters.settled(nonce, {.state = State::offered});
        EXPECT_TRUE(waiters.has_heard_all_in(1, nonce));
        waiters.settled(nonce, {.state = state});
        EXPECT_FALSE(waiters.has_heard_all_in(1, nonce));
    }
    Waiters waiters;
    waiters.expect(contender, 1);
    EXPECT_FALSE(waiters.leave(ticket).plants_tombstone);
    EXPECT_FALSE(waiters.has_heard_all_in(1, nonce));
}

TEST(Waiters, PlantATombstoneWhereACopyOfTheirEnterMayCome) {
    Waiters waiters;
    EXPECT_TRUE(waiters.leave({"r", nonce, ""}).plants_tombstone);
    EXPECT_TRUE(waiters.leave({"r", nonce, std::string("1") + sent_again}).plants_tombstone);
    EXPECT_FALSE(waiters.leave({"r", nonce, "1"}).plants_tombstone);
}

TEST(Waiters, AreWokenWithoutANameWhereThereIsOne) {
    Waiters waiters;
    Heard heard;
    const News woken{.whom = News::Whom::the_only_one, .standing = {.state = State::offered}};
    const auto watch = waiters.watch(ticket, heard.hear());
    waiters.tell(woken);
    EXPECT_EQ(heard.states, std::vector{State::offered});
    waiters.expect({.resource = "r", .nonce = {}, .owner = {}}, 1);
    waiters.tell(woken);
    EXPECT_EQ(heard.states.size(), 1U);
}

TEST(Waiters, AreToldOfAnAnswerOnlyWhenItIsNews) {
    Waiters waiters;
    Heard heard;
    const auto watch = waiters.watch(ticket, heard.hear());
    waiters.tell_answer(nonce, Standing{.state = State::waiting});
    EXPECT_TRUE(heard.states.empty());
    waiters.tell_answer(nonce, Standing{.state = State::waiting, .look_again = 1s});
    waiters.tell_answer(nonce, Standing{.state = State::offered});
    waiters.tell_answer(nonce, Failure{});
    EXPECT_EQ(heard.states, (std::vector{State::waiting, State::offered, State::waiting}));
}

}  // namespace
}  // namespace holdfast::scripted
