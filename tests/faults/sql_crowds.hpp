#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <holdfast/holdfast.hpp>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "faults/server_faults.hpp"
#include "port/store.hpp"
#include "stores/open_store.hpp"
#include "support/await.hpp"
#include "support/contender.hpp"

/// Many in one line, and dead ones among them: the same cases for each kind of database. `Site` has
/// the server, and how a few things are said to it:
///     Server server;
///     std::string contenders(condition)   how many there are
///     void plant_dead_waiters(int count)   at the front of the only line that there is
///     void end_leases(condition)          of all contenders that it is true of
namespace holdfast::test {

template <class Site>
class SqlCrowds : public testing::Test {
protected:
    using State = Standing::State;
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds long_lease = 60s;
    /// Of offers that nobody has claimed yet, and of dead waiters that one request takes out.
    static constexpr std::size_t most_offers = 100;
    static constexpr std::size_t most_removals = 500;

    static Contender contender(std::uint64_t weight = all,
                               std::chrono::milliseconds lease = long_lease) {
        static std::mt19937_64 random{std::random_device{}()};
        Contender one;
        one.resource = "holdfast/orders";
        one.owner = "somebody";
        one.lease = lease;
        one.weight = weight;
        for (auto& byte : one.nonce.bytes) byte = static_cast<std::byte>(random());
        return one;
    }
    std::string url() const { return site_.server.url() + "?request_timeout=100s"; }
    Entry enter(const Contender& one) const {
        return store_->enter({&one, 1}).get().value().front();
    }
    std::vector<Ticket> enter_readers(std::size_t count) const {
        std::vector<Pending<std::vector<Entry>>> pending;
        for (std::size_t i = 0; i < count; ++i) {
            const Contender one = contender(1);
            pending.push_back(store_->enter({&one, 1}));
        }
        std::vector<Ticket> tickets;
        for (auto& one : pending) tickets.push_back(std::move(one).get().value().front().ticket);
        return tickets;
    }
    State renew(const Ticket& ticket) const {
        return store_->renew({&ticket, 1}, long_lease).get().value().front().state;
    }
    std::size_t count(const std::string& condition) const {
        return std::stoul(site_.contenders(condition));
    }
    std::size_t offered() const { return count("phase = 'offered'"); }

    Site site_;
    const std::shared_ptr<Store> store_ = open_store(url()).store;
};
TYPED_TEST_SUITE_P(SqlCrowds);

TYPED_TEST_P(SqlCrowds, OneRequestOffersABoundedNumberOfPlacesAndTheClaimsOfferTheRest) {
    constexpr std::size_t count = 1200;
    const Ticket writer = this->enter(this->contender()).ticket;
    const auto readers = this->enter_readers(count);
    ASSERT_TRUE(this->store_->leave(writer).get().ok());
    EXPECT_EQ(this->offered(), this->most_offers);

    // Over the claim time, some are passed over, and come in when they are heard of again.
    for (std::size_t i = 0; i < count; ++i) {
        const auto admitted = [&] { return this->renew(readers[i]) == Standing::State::admitted; };
        ASSERT_TRUE(await(admitted)) << i;
        if (i % 100 == 0) {
            EXPECT_LE(this->offered(), this->most_offers) << i;
        }
    }
    EXPECT_EQ(this->count("phase = 'admitted'"), count);
}

TYPED_TEST_P(SqlCrowds, ACrowdOfDeadWaitersIsTakenOutInPartsAndTheLivingOneBehindThemGetsIn) {
    constexpr std::size_t dead = 3000;
    for (const Fairness fairness : {Fairness::fifo, Fairness::barging}) {
        Contender first = this->contender();
        first.fairness = fairness;
        const Ticket holder = this->enter(first).ticket;
        this->site_.plant_dead_waiters(static_cast<int>(dead));
        const Client ours = connect(this->url());
        Acquiring living(ours, "orders", {.lease = this->long_lease, .fairness = fairness});
        ASSERT_TRUE(await([&] { return waiters_of(ours, "orders") == 1; }));
        const auto released = std::chrono::steady_clock::now();
        ASSERT_TRUE(this->store_->leave(holder).get().ok());
        auto hold = living.get();
        EXPECT_LT(std::chrono::steady_clock::now() - released, 10s)
            << "a third of its lease is 20 s";
        EXPECT_GE(this->count("lease_end = 1"), dead - 2 * this->most_removals)
            << "by the release and the claim";
        hold.release();
        // Whoever comes after takes out the others.
        EXPECT_TRUE(await([&] {
            ours.mutex("orders", {.fairness = fairness}).acquire().release();
            return this->count("lease_end = 1") == 0;
        }));
    }
}

/// What it takes out is rolled back when it is busy, and then the next try would find them again.
TYPED_TEST_P(SqlCrowds, ATryGetsWhatACrowdOfDeadHoldersHeld) {
    for (const std::string other : {"", "holdfast/an earlier name"}) {
        this->enter_readers(this->most_removals + 100);
        this->site_.end_leases("phase = 'admitted'");
        std::vector<Contender> tried{this->contender()};
        if (!other.empty()) {
            tried.insert(tried.begin(), this->contender());
            tried.front().resource = other;
        }
        for (Contender& one : tried) one.patience = Patience::none;
        const auto entered = this->store_->enter(tried).get().value();
        ASSERT_EQ(entered.back().standing.state, Standing::State::admitted) << other;
        // Nor is there a seat beside those that are left: whoever waits would look on and on.
        const Entry next = this->enter(this->contender());
        ASSERT_EQ(next.standing.state, Standing::State::waiting);
        ASSERT_TRUE(this->store_->leave(entered.back().ticket).get().ok());
        ASSERT_EQ(this->renew(next.ticket), Standing::State::admitted);
        EXPECT_EQ(this->count("lease_end = 1"), 0U) << "three requests";
        ASSERT_TRUE(this->store_->leave(next.ticket).get().ok());
    }
}

TYPED_TEST_P(SqlCrowds, AmongACrowdOfDeadHoldersThePlaceOfALivingOneThatJoinedCounts) {
    Contender hold = this->contender(1);
    hold.owner = "build";
    this->enter_readers(this->most_removals + 100);
    const auto fence = this->enter(hold).standing.fence;
    Contender joined = this->contender(1);
    joined.owner = hold.owner;
    joined.reenter = true;
    ASSERT_EQ(this->enter(joined).standing.state, Standing::State::admitted);
    this->site_.end_leases("weight > 0");
    Contender tried = this->contender();
    tried.patience = Patience::none;
    EXPECT_EQ(this->enter(tried).standing.state, Standing::State::gone);
    joined.nonce = this->contender().nonce;
    EXPECT_EQ(this->enter(joined).standing.fence, fence) << "it joined the place that lives on";
}

TYPED_TEST_P(SqlCrowds, BehindAsManyBargersAsAreCalledAtOnceTheOthersComeInThoughNoneOfThoseDoes) {
    constexpr std::size_t places = 200;
    constexpr int behind = 50;
    const auto permits = [&](std::uint64_t weight) {
        Contender one = this->contender(weight, 5min);
        one.capacity = places;
        one.form = Form::permits;
        one.fairness = Fairness::barging;
        return one;
    };
    const Ticket holder = this->enter(permits(places)).ticket;
    for (std::size_t i = 0; i < this->most_offers; ++i) this->enter(permits(1));
    const Client ours = connect(this->url());
    auto semaphore =
        ours.semaphore("orders", places, {.lease = 5min, .fairness = Fairness::barging});
    std::atomic<int> in{0};
    std::vector<std::optional<Hold>> holds(behind);
    for (int i = 0; i < behind; ++i) {
        semaphore.async_acquire([&, i](const std::exception_ptr& failure, Attempt attempt) {
            if (!failure && attempt) holds[static_cast<std::size_t>(i)] = *std::move(attempt);
            ++in;
        });
    }
    ASSERT_TRUE(await([&] { return this->count("phase = 'waiting'") == places - behind; }));
    ASSERT_TRUE(this->store_->leave(holder).get().ok());
    EXPECT_TRUE(await([&] { return in == behind; }, 50s))
        << in << " are in; a third of the lease is 100 s";
    holds.clear();
}

REGISTER_TYPED_TEST_SUITE_P(
    SqlCrowds, OneRequestOffersABoundedNumberOfPlacesAndTheClaimsOfferTheRest,
    ACrowdOfDeadWaitersIsTakenOutInPartsAndTheLivingOneBehindThemGetsIn,
    ATryGetsWhatACrowdOfDeadHoldersHeld,
    AmongACrowdOfDeadHoldersThePlaceOfALivingOneThatJoinedCounts,
    BehindAsManyBargersAsAreCalledAtOnceTheOthersComeInThoughNoneOfThoseDoes);

}  // namespace holdfast::test
