#include "stores/mysql/seat.hpp"

#include <gtest/gtest.h>

namespace holdfast::inline v0::mysql {
namespace {

sql::Call enter(const std::string& weight, const std::string& capacity) {
    return {.verb = "enter",
            .rows = {{"orders", "nonce", "client", "owner", "host", "7", weight, capacity, "f", "w",
                      "30000", "0"}}};
}

sql::Call leave(const std::string& place, const std::string& tombstone = "0") {
    return {.verb = "leave", .rows = {{"orders", "nonce", tombstone}}, .place = place};
}

TEST(MysqlSeat, IsForOneThatTakesAll) {
    const Seat seat;
    EXPECT_TRUE(seat.statement_for(enter("5", "5")));
    EXPECT_FALSE(seat.statement_for(enter("1", "5")));
    sql::Call several = enter("5", "5");
    several.rows.push_back(several.rows.front());
    EXPECT_FALSE(seat.statement_for(several));
    sql::Call shared = enter("5", "5");
    shared.shared = true;
    EXPECT_FALSE(seat.statement_for(shared));
}

TEST(MysqlSeat, IsLeftByWhoeverTookItAndCannotComeAgain) {
    const Seat seat;
    const std::string place = Seat::answer_to(enter("5", "5"), 12)[1];
    EXPECT_TRUE(seat.statement_for(leave(place)));
    EXPECT_FALSE(seat.statement_for(leave("12")));
    EXPECT_FALSE(seat.statement_for(leave(place, "60000")));
    EXPECT_FALSE(seat.statement_for(leave(place + "!")));
}

TEST(MysqlSeat, AnswersAsTheProcedureWould) {
    EXPECT_EQ(Seat::answer_to(enter("5", "5"), 12),
              (std::vector<std::string>{"3", "12=", "12", "-1"}));
}

TEST(MysqlSeat, WhereSomebodyWaitedTheNextReleaseGoesToTheProcedureAtOnce) {
    Seat seat;
    seat.learn(leave("12="), {.rows = {{"3", "12", "12", "0"}}});
    EXPECT_FALSE(seat.statement_for(leave("13=")));
    seat.learn(leave("13="), {.rows = {{"3", "13", "13", "-1"}}});
    EXPECT_TRUE(seat.statement_for(leave("14=")));
}

}  // namespace
}  // namespace holdfast::inline v0::mysql
