#include <functional>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "stores/zookeeper/attachment.hpp"

namespace holdfast::zookeeper {
namespace {

using Due = std::vector<Callback<void()>>;

TEST(InOrder, WhatWasReadFirstIsToldFirstWhicheverTurnComesFirst) {
    InOrder in_order;
    std::vector<int> told;
    Due first_turn;
    Due second_turn;
    in_order.tell([&] { told.push_back(1); }, first_turn);
    in_order.tell([&] { told.push_back(2); }, second_turn);
    second_turn.front()();
    EXPECT_EQ(told, (std::vector{1, 2}));
    first_turn.front()();
    EXPECT_EQ(told, (std::vector{1, 2})) << "once";
}

TEST(InOrder, WhatIsReadWhileSomethingIsToldIsToldAfterIt) {
    InOrder in_order;
    std::vector<int> told;
    Due due;
    Due meanwhile;
    in_order.tell(
        [&] {
            in_order.tell([&] { told.push_back(2); }, meanwhile);
            meanwhile.front()();
            told.push_back(1);
        },
        due);
    due.front()();
    EXPECT_EQ(told, (std::vector{1, 2}));
}

TEST(InOrder, OneWhoThrowsKeepsNobodyFromWhatIsToldLater) {
    InOrder in_order;
    std::vector<int> told;
    Due due;
    in_order.tell([] { throw std::runtime_error("no memory, say"); }, due);
    in_order.tell([&] { told.push_back(2); }, due);
    EXPECT_THROW(due[0](), std::runtime_error);
    due[1]();
    EXPECT_EQ(told, std::vector{2});
}

TEST(InOrder, OneWhoThrowsKeepsNobodyFromWhatOthersCameForWhileItWasTold) {
    InOrder in_order;
    std::vector<int> told;
    Due due;
    Due meanwhile;
    in_order.tell(
        [&] {
            // Another thread comes, and leaves it to this one.
            in_order.tell([&] { told.push_back(2); }, meanwhile);
            meanwhile.front()();
            throw std::runtime_error("no memory, say");
        },
        due);
    EXPECT_THROW(due.front()(), std::runtime_error);
    EXPECT_EQ(told, std::vector{2});
}

}  // namespace
}  // namespace holdfast::zookeeper
