#include <holdfast/holdfast.hpp>
#include <random>

#include "faults/databases.hpp"
#include "port/store.hpp"
#include "stores/open_store.hpp"
#include "support/contender.hpp"

/// Many in one line, and dead ones among them.
namespace holdfast::test {
namespace {

class SqlCrowds : public OnDatabase {
protected:
    using State = Standing::State;
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
    std::size_t contenders_where(const std::string& condition) const {
        return std::stoul(query("SELECT COUNT(*) FROM holdfast_contenders WHERE " + condition));
    }
    void end_leases(const std::string& condition) const {
        query("UPDATE holdfast_contenders SET lease_end = 1 WHERE " + condition);
    }
    std::size_t offered() const { return contenders_where("phase = 'offered'"); }

    const std::shared_ptr<Store> store_ = open_store(url("?request_timeout=100s")).store;
};
HOLDFAST_ON_DATABASES(SqlCrowds);

TEST_P(SqlCrowds, OneRequestOffersABoundedNumberOfPlacesAndTheClaimsOfferTheRest) {
    constexpr std::size_t count = 1200;
    const Ticket writer = enter(contender()).ticket;
    const auto readers = enter_readers(count);
    ASSERT_TRUE(store_->leave(writer).get().ok());
    EXPECT_EQ(offered(), most_offers);

    // Over the claim time, some are passed over, and come in when they are heard of again.
    for (std::size_t i = 0; i < count; ++i) {
        const auto admitted = [&] { return renew(readers[i]) == State::admitted; };
        ASSERT_TRUE(await(admitted)) << i;
        if (i % 100 == 0) {
            EXPECT_LE(offered(), most_offers) << i;
        }
    }
    EXPECT_EQ(contenders_where("phase = 'admitted'"), count);
}

TEST_P(SqlCrowds, ACrowdOfDeadWaitersIsTakenOutInPartsAndTheLivingOneBehindThemGetsIn) {
    constexpr std::size_t dead = 3000;
    for (const Fairness fairness : {Fairness::fifo, Fairness::barging}) {
        Contender first = contender();
        first.fairness = fairness;
        const Ticket holder = enter(first).ticket;
        database_->plant_dead_waiters(static_cast<int>(dead));
        const Client ours = connect(url("?request_timeout=100s"));
        Acquiring living(ours, "orders", {.lease = long_lease, .fairness = fairness});
        ASSERT_TRUE(await([&] { return waiters_of(ours, "orders") == 1; }));
        const auto released = Clock::now();
        ASSERT_TRUE(store_->leave(holder).get().ok());
        auto hold = living.get();
        EXPECT_LT(Clock::now() - released, 10s) << "a third of its lease is 20 s";
        EXPECT_GE(contenders_where("lease_end = 1"), dead - 2 * most_removals)
            << "by the release and the claim";
        hold.release();
        // Whoever comes after takes out the others.
        EXPECT_TRUE(await([&] {
            ours.mutex("orders", {.fairness = fairness}).acquire().release();
            return contenders_where("lease_end = 1") == 0;
        }));
    }
}

/// What it takes out is rolled back when it is busy, and then the next try would find them again.
TEST_P(SqlCrowds, ATryGetsWhatACrowdOfDeadHoldersHeld) {
    for (const std::string other : {"", "holdfast/an earlier name"}) {
        enter_readers(most_removals + 100);
        end_leases("phase = 'admitted'");
        std::vector<Contender> tried{contender()};
        if (!other.empty()) {
            tried.insert(tried.begin(), contender());
            tried.front().resource = other;
        }
        for (Contender& one : tried) one.patience = Patience::none;
        const auto entered = store_->enter(tried).get().value();
        ASSERT_EQ(entered.back().standing.state, State::admitted) << other;
        // Nor is there a seat beside those that are left: whoever waits would look on and on.
        const Entry next = enter(contender());
        ASSERT_EQ(next.standing.state, State::waiting);
        ASSERT_TRUE(store_->leave(entered.back().ticket).get().ok());
        ASSERT_EQ(renew(next.ticket), State::admitted);
        EXPECT_EQ(contenders_where("lease_end = 1"), 0U) << "three requests";
        ASSERT_TRUE(store_->leave(next.ticket).get().ok());
    }
}

TEST_P(SqlCrowds, AmongACrowdOfDeadHoldersThePlaceOfALivingOneThatJoinedCounts) {
    Contender hold = contender(1);
    hold.owner = "build";
    enter_readers(most_removals + 100);
    const auto fence = enter(hold).standing.fence;
    Contender joined = contender(1);
    joined.owner = hold.owner;
    joined.reenter = true;
    ASSERT_EQ(enter(joined).standing.state, State::admitted);
    end_leases("weight > 0");
    Contender tried = contender();
    tried.patience = Patience::none;
    EXPECT_EQ(enter(tried).standing.state, State::gone);
    joined.nonce = contender().nonce;
    EXPECT_EQ(enter(joined).standing.fence, fence) << "it joined the place that lives on";
}

TEST_P(SqlCrowds, BehindAsManyBargersAsAreCalledAtOnceTheOthersComeInThoughNoneOfThoseDoes) {
    constexpr std::size_t places = 200;
    constexpr int behind = 50;
    const auto permits = [&](std::uint64_t weight) {
        Contender one = contender(weight, 5min);
        one.capacity = places;
        one.form = Form::permits;
        one.fairness = Fairness::barging;
        return one;
    };
    const Ticket holder = enter(permits(places)).ticket;
    for (std::size_t i = 0; i < most_offers; ++i) enter(permits(1));
    const Client ours = connect(url("?request_timeout=100s"));
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
    ASSERT_TRUE(await([&] { return contenders_where("phase = 'waiting'") == places - behind; }));
    ASSERT_TRUE(store_->leave(holder).get().ok());
    EXPECT_TRUE(await([&] { return in == behind; }, 50s))
        << in << " are in; a third of the lease is 100 s";
    holds.clear();
}

}  // namespace
}  // namespace holdfast::test
