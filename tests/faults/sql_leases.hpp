#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "port/store.hpp"
#include "stores/open_store.hpp"
#include "support/await.hpp"

/// Requests of which a late copy comes after later ones, as a broken connection may bring it: the
/// same cases for each kind of database. `Site` has the server.
namespace holdfast::test {

using namespace std::chrono_literals;

template <class Site>
class SqlLeases : public testing::Test {
protected:
    static Contender contender(std::uint64_t weight, char letter) {
        Contender one;
        one.resource = "orders";
        one.owner = letter;
        one.lease = 30s;
        one.nonce.bytes.fill(static_cast<std::byte>(letter));
        one.weight = weight;
        return one;
    }
    Ticket enter(const Contender& one) {
        auto entered = store_->enter({&one, 1}).get();
        return entered.value().front().ticket;
    }
    Standing renew(const Ticket& ticket, Extension extension) {
        return store_->renew({&ticket, 1}, extension).get().value().front();
    }
    Standing::State standing(const Ticket& ticket) {
        return store_->standing(ticket).get().value().state;
    }
    std::chrono::milliseconds lease_left(std::size_t place = 0) {
        const auto lines = store_->inspect("").get();
        const Line& line = lines.value().front();
        return place == 0 ? line.holders.front().lease_left : line.waiters.front().lease_left;
    }

    Site site_;
    std::shared_ptr<Store> store_ = open_store(site_.server.url()).store;
    const Moment earlier_ = BootClock::now();
    const Moment later_ = earlier_ + 1s;
};
TYPED_TEST_SUITE_P(SqlLeases);

/// One that has all, and one that shares: servers may keep them in different places.
TYPED_TEST_P(SqlLeases, ALateCopyOfAnOlderRenewalShortensNothing) {
    for (const std::uint64_t weight : {all, std::uint64_t{1}}) {
        const Ticket ticket = this->enter(this->contender(weight, 'a'));
        const Standing kept = this->renew(ticket, {10min, this->later_});
        const Standing late = this->renew(ticket, {1s, this->earlier_});
        EXPECT_EQ(late.state, Standing::State::admitted);
        EXPECT_EQ(late.fence, kept.fence);
        EXPECT_GT(this->lease_left(), 9min);
        EXPECT_EQ(this->renew(ticket, {20min, this->later_ + 1s}).fence, kept.fence);
        EXPECT_GT(this->lease_left(), 19min);
        ASSERT_TRUE(this->store_->leave(ticket).get().ok());
    }
}

TYPED_TEST_P(SqlLeases, ALateCopyOfAWaitersRenewalShortensNothing) {
    this->enter(this->contender(all, 'a'));
    const Ticket waiting = this->enter(this->contender(all, 'b'));
    this->renew(waiting, {10min, this->later_});
    EXPECT_EQ(this->renew(waiting, {1s, this->earlier_}).state, Standing::State::waiting);
    EXPECT_GT(this->lease_left(1), 9min);
}

TYPED_TEST_P(SqlLeases, ALateCopyOfAnEnterShortensNothing) {
    for (const std::uint64_t weight : {all, std::uint64_t{1}}) {
        const Contender one = this->contender(weight, 'a');
        const Ticket ticket = this->enter(one);
        const Standing kept = this->renew(ticket, {10min, this->later_});
        const auto again = this->store_->enter({&one, 1}).get();
        ASSERT_TRUE(again.ok());
        EXPECT_EQ(again.value().front().standing.fence, kept.fence);
        EXPECT_GT(this->lease_left(), 9min);
        ASSERT_TRUE(this->store_->leave(ticket).get().ok());
    }
}

/// Who asks is there, also where there is no room yet.
TYPED_TEST_P(SqlLeases, OneThatWasPassedOverAndAsksIsInLineAgain) {
    const Ticket first = this->enter(this->contender(all, 'a'));
    const Ticket passed_over = this->enter(this->contender(all, 'b'));
    const Ticket next = this->enter(this->contender(all, 'c'));
    ASSERT_TRUE(this->store_->leave(first).get().ok());
    ASSERT_TRUE(await([&] { return this->renew(next, 30s).state == Standing::State::admitted; }))
        << "once the claim time is over";
    EXPECT_EQ(this->standing(passed_over), Standing::State::waiting);
    const Ticket last = this->enter(this->contender(all, 'd'));
    ASSERT_TRUE(this->store_->leave(next).get().ok());
    EXPECT_EQ(this->standing(last), Standing::State::waiting);
    EXPECT_EQ(this->renew(passed_over, 30s).state, Standing::State::admitted);
}

REGISTER_TYPED_TEST_SUITE_P(SqlLeases, ALateCopyOfAnOlderRenewalShortensNothing,
                            ALateCopyOfAWaitersRenewalShortensNothing,
                            ALateCopyOfAnEnterShortensNothing,
                            OneThatWasPassedOverAndAsksIsInLineAgain);

}  // namespace holdfast::test
