#include "stores/memcached/applicants.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

namespace holdfast::memcached {
namespace {

using namespace std::chrono_literals;

Nonce nonce(int number) {
    return {{std::byte(number)}};
}
std::shared_ptr<const Identity> who(int number) {
    return std::make_shared<Identity>(Identity{"orders", nonce(number), "orders", "value"});
}

class SeveralApplicants : public testing::Test {
protected:
    SeveralApplicants() {
        for (int number = 1; number <= 3; ++number) {
            applicants_.enter(who(number), 30s);
            applicants_.looked(nonce(number), Moment{}, Applicant::Found::held);
        }
    }
    std::unique_ptr<Watch> watch(int number) {
        return applicants_.watch({"orders", nonce(number), "place"},
                                 [this, number](const Standing& standing) {
                                     EXPECT_EQ(standing.state, Standing::State::offered);
                                     told_.push_back(number);
                                 });
    }

    Applicants applicants_;
    std::vector<int> told_;
};

TEST_F(SeveralApplicants, TellTheOneThatHasWaitedLongest) {
    const auto second = watch(2);
    const auto first = watch(1);
    applicants_.given_back("others");
    EXPECT_TRUE(told_.empty());
    applicants_.given_back("orders");
    EXPECT_EQ(told_, std::vector{1});
}

TEST_F(SeveralApplicants, TellNobodyWhoHoldsOrHasLeft) {
    const auto first = watch(1);
    const auto third = watch(3);
    applicants_.holds(nonce(1), {1, 1});
    applicants_.forget(nonce(2));
    applicants_.given_back("orders");
    EXPECT_EQ(told_, std::vector{3});
}

TEST_F(SeveralApplicants, TellWhatWasToldBeforeSomebodyWatched) {
    applicants_.given_back("orders");
    const auto first = watch(1);
    EXPECT_EQ(told_, std::vector{1});
}

TEST_F(SeveralApplicants, KnowWhoseItemMayComeLate) {
    EXPECT_FALSE(applicants_.find(nonce(1))->may_come_late());
    applicants_.adding(nonce(1));
    EXPECT_TRUE(applicants_.find(nonce(1))->may_come_late()) << "it is under way";
    applicants_.added(nonce(1), Applicant::Copies::none);
    EXPECT_FALSE(applicants_.find(nonce(1))->may_come_late());
    applicants_.adding(nonce(1));
    applicants_.added(nonce(1), Applicant::Copies::left);
    EXPECT_TRUE(applicants_.find(nonce(1))->may_come_late()) << "a copy was lost";
}

TEST_F(SeveralApplicants, WhoHaveLeftOrHoldMakeNoItem) {
    using Adding = Applicants::Adding;
    EXPECT_EQ(applicants_.adding(nonce(1)), Adding::begun);
    applicants_.forget(nonce(1));
    EXPECT_EQ(applicants_.adding(nonce(1)), Adding::left) << "it would be nobody's";
    applicants_.holds(nonce(2), {1, 1});
    EXPECT_EQ(applicants_.adding(nonce(2)), Adding::holds) << "a lost one would be made again";
    EXPECT_EQ(applicants_.find(nonce(2))->adds, 0);
}

TEST_F(SeveralApplicants, KnowWhoseItemIsTheOnlyOneThatThereCanBe) {
    applicants_.adding(nonce(1));
    EXPECT_TRUE(applicants_.added(nonce(1), Applicant::Copies::none));
    applicants_.adding(nonce(1));
    applicants_.adding(nonce(1));
    EXPECT_FALSE(applicants_.added(nonce(1), Applicant::Copies::none)) << "another is under way";
    EXPECT_TRUE(applicants_.added(nonce(1), Applicant::Copies::none));
    applicants_.adding(nonce(1));
    EXPECT_FALSE(applicants_.added(nonce(1), Applicant::Copies::left));
    applicants_.adding(nonce(2));
    applicants_.holds(nonce(2), {1, 1});
    EXPECT_FALSE(applicants_.added(nonce(2), Applicant::Copies::none)) << "it held by another";
}

TEST_F(SeveralApplicants, LookLaterEachTimeAndNoMoreThanTenTimesInASecond) {
    for (int round = 0; round < 100; ++round) {
        applicants_.forget(nonce(1));
        applicants_.enter(who(1), 30s);
        std::chrono::nanoseconds passed{0};
        int looks = 0;
        while ((passed += applicants_.next_look(nonce(1))) < 1s) ++looks;
        // Beside the request that found it busy, and the look behind that.
        EXPECT_LE(looks, 8);
        const auto pause = applicants_.next_look(nonce(1));
        EXPECT_GE(pause, 180ms);
        EXPECT_LE(pause, 320ms);
    }
}

TEST_F(SeveralApplicants, KeepOneVigilForEach) {
    EXPECT_TRUE(applicants_.begins_vigil(nonce(1)));
    EXPECT_FALSE(applicants_.begins_vigil(nonce(1)));
    EXPECT_TRUE(applicants_.begins_vigil(nonce(2)));
    applicants_.vigil_is_over(nonce(1));
    EXPECT_TRUE(applicants_.begins_vigil(nonce(1)));
}

}  // namespace
}  // namespace holdfast::memcached
