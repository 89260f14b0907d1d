#include "stores/redis/confirmations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace holdfast::inline v0::redis {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

Moment at(std::chrono::milliseconds since_start) {
    return Moment{1h} + since_start;
}

class TheConfirmations : public testing::Test {
protected:
    void answered(const std::string& name, std::chrono::milliseconds deadline = 5s) {
        auto request = std::make_unique<Request>(
            Command{"ECHO", name},
            [this, name](const Answer& answer) {
                told_.push_back(answer.result.ok() ? name : name + " failed");
                if (!answer.result.ok()) effects_.push_back(answer.result.failure().effect);
            },
            at(deadline));
        confirmations_.add(std::move(request), {});
    }
    void confirmed() {
        net::Due due;
        confirmations_.confirmed(due);
        call(due);
    }
    void expire(std::chrono::milliseconds now) {
        net::Due due;
        confirmations_.expire(at(now), {errc::unreachable, Effect::unknown, "too few"}, due);
        call(due);
    }

    Confirmations confirmations_;
    std::vector<std::string> told_;
    std::vector<Effect> effects_;

private:
    static void call(net::Due& due) {
        for (const auto& told : due) told();
    }
};

TEST_F(TheConfirmations, AreOfWhatWasAnsweredBeforeTheRoundAlone) {
    answered("first");
    answered("second");
    confirmations_.begin_round();
    answered("too late for it");
    confirmed();
    EXPECT_THAT(told_, ElementsAre("first", "second"));
    EXPECT_FALSE(confirmations_.empty());
    confirmations_.begin_round();
    confirmed();
    EXPECT_THAT(told_, ElementsAre("first", "second", "too late for it"));
}

TEST_F(TheConfirmations, OfARoundThatTooFewAnsweredAreForTheNext) {
    answered("first");
    confirmations_.begin_round();
    confirmations_.not_confirmed();
    EXPECT_THAT(told_, IsEmpty());
    EXPECT_FALSE(confirmations_.is_round_under_way());
    confirmations_.begin_round();
    confirmed();
    EXPECT_THAT(told_, ElementsAre("first"));
}

/// Its place in the round is not another one's.
TEST_F(TheConfirmations, OfOneWhoseTimeIsUpConfirmNobodyElse) {
    answered("patient");
    answered("impatient", 1s);
    confirmations_.begin_round();
    answered("too late for it");
    EXPECT_EQ(confirmations_.earliest_deadline(), at(1s));
    expire(1s);
    EXPECT_THAT(told_, ElementsAre("impatient failed"));
    EXPECT_THAT(effects_, ElementsAre(Effect::unknown));
    confirmed();
    EXPECT_THAT(told_, ElementsAre("impatient failed", "patient"));
}

TEST_F(TheConfirmations, ThatNeverComeHaveAllAskedAgainAsAfterALostReply) {
    answered("first");
    confirmations_.begin_round();
    answered("second");
    net::Outbox<Request> outbox("redis", 5s);
    confirmations_.give_back(outbox);
    ASSERT_EQ(outbox.waiting().size(), 2U);
    EXPECT_TRUE(outbox.waiting()[0]->repeated);
    EXPECT_TRUE(outbox.waiting()[1]->repeated);
    EXPECT_TRUE(confirmations_.empty());
    confirmed();
    EXPECT_THAT(told_, IsEmpty()) << "by an answer to the round that was given up";
}

}  // namespace
}  // namespace holdfast::inline v0::redis
