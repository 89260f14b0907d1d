#include <gtest/gtest.h>

#include <vector>

#include "stores/etcd/protocol.hpp"

namespace holdfast::etcd {
namespace {

using Before = SingleFile::Before;

class ASingleFile : public testing::Test {
protected:
    void enter(int number) {
        file_.enter("orders", [this, number](Before before) {
            let_in_.push_back(number);
            before_ = before;
            return true;
        });
    }
    void enter_unwanted() {
        file_.enter("orders", [](Before) { return false; });
    }

    SingleFile file_;
    std::vector<int> let_in_;
    Before before_ = Before::was_served;
};

TEST_F(ASingleFile, LetsInOneAfterTheOther) {
    enter(1);
    enter(2);
    EXPECT_EQ(let_in_, std::vector{1});
    file_.is_through("orders", Before::was_served);
    EXPECT_EQ(let_in_, (std::vector{1, 2}));
    file_.is_through("orders", Before::was_served);
    enter(3);
    EXPECT_EQ(let_in_, (std::vector{1, 2, 3}));
}

TEST_F(ASingleFile, PassesOverAnyNumberThatNobodyWantsAnyMore) {
    enter(1);
    for (int i = 0; i < 100'000; ++i) enter_unwanted();
    enter(2);
    file_.is_through("orders", Before::was_not_served);
    EXPECT_EQ(let_in_, (std::vector{1, 2}));
    EXPECT_EQ(before_, Before::was_not_served) << "the last one that went";
}

TEST_F(ASingleFile, IsFreeBehindTheLastOneThatNobodyWants) {
    enter_unwanted();
    enter(1);
    enter_unwanted();
    file_.is_through("orders", Before::was_served);
    enter(2);
    EXPECT_EQ(let_in_, (std::vector{1, 2}));
}

}  // namespace
}  // namespace holdfast::etcd
