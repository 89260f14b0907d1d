#include "faults/sites.hpp"

/// Many in one line, and dead ones among them, where the server runs our code.
namespace holdfast::test {
namespace {

using State = Standing::State;

class Crowds : public Trap {
protected:
    Contender one_of(std::uint64_t weight, std::chrono::milliseconds lease = 60s) const {
        Contender one = contender();
        one.weight = weight;
        one.lease = lease;
        if (weight != all) one.form = Form::read_write;
        return one;
    }
    Entry enter(const Contender& one) const {
        return store_->enter({&one, 1}).get().value().front();
    }
    State renew(const Ticket& ticket) const {
        return store_->renew({&ticket, 1}, 60s).get().value().front().state;
    }
    State standing(const Ticket& ticket) const {
        return store_->standing(ticket).get().value().state;
    }

    const std::shared_ptr<Store> store_ = port("request_timeout=100s");
};
HOLDFAST_AT_SITES(Crowds,
                  [](const StoreAtSite& store) { return store.runs_our_code && store.has_line; });

/// Who asks is there, also where there is no room yet.
TEST_P(Crowds, OneThatWasPassedOverAndAsksIsInLineAgain) {
    const Ticket first = enter(one_of(all)).ticket;
    const Ticket passed_over = enter(one_of(all)).ticket;
    const Ticket next = enter(one_of(all)).ticket;
    ASSERT_TRUE(store_->leave(first).get().ok());
    ASSERT_TRUE(await([&] { return renew(next) == State::admitted; }))
        << "once the claim time is over";
    EXPECT_EQ(standing(passed_over), State::waiting);
    const Ticket last = enter(one_of(all)).ticket;
    ASSERT_TRUE(store_->leave(next).get().ok());
    EXPECT_EQ(standing(last), State::waiting);
    EXPECT_EQ(renew(passed_over), State::admitted);
}

TEST_P(Crowds, TheFirstFewInLineLookAClaimTimeAfterEachOther) {
    enter(one_of(all, 10s));
    std::chrono::nanoseconds last{0};
    for (int i = 0; i < 8; ++i) {
        const Entry entered = enter(one_of(all));
        ASSERT_TRUE(entered.standing.look_again) << i << " ahead of it";
        EXPECT_GT(*entered.standing.look_again, last + 500ms) << i;
        const auto asked = store_->standing(entered.ticket).get().value();
        ASSERT_TRUE(asked.look_again) << i << " ahead of it";
        last = *entered.standing.look_again;
    }
    EXPECT_FALSE(enter(one_of(all)).standing.look_again);
}

TEST_P(Crowds, AWaiterThatThereIsRoomForLooksWhenTheOneBeforeItEnds) {
    enter(one_of(1));
    enter(one_of(all, 5s));
    const Entry last = enter(one_of(1));
    ASSERT_EQ(last.standing.state, State::waiting);
    ASSERT_TRUE(last.standing.look_again);
    EXPECT_LE(*last.standing.look_again, 5s) << "the holder's lease is a minute";
}

TEST_P(Crowds, AHolderAndTheFirstWaitersDeadTogetherCostAFewClaimTimes) {
    enter(one_of(all, 1500ms));
    enter(one_of(all));
    enter(one_of(all));
    Acquiring living(rival(), "orders", long_lived());
    EXPECT_TRUE(living.is_over(15s)) << "a third of its lease is 20 s";
    living.get().release();
}

TEST_P(Crowds, OfReadersAllComeInWithoutWaitingForTheirRenewals) {
    constexpr std::size_t count = 1000;
    for (const Fairness fairness : {Fairness::fifo, Fairness::barging}) {
        const LockOptions options{.lease = 5min, .fairness = fairness};
        const Client ours = rival("request_timeout=100s");
        auto writer = rival().shared_mutex("orders", options).acquire();
        auto lock = ours.shared_mutex("orders", options);
        std::atomic<std::size_t> in{0};
        std::vector<std::optional<Hold>> holds(count);
        for (std::size_t i = 0; i < count; ++i) {
            lock.async_acquire_shared([&, i](const std::exception_ptr& failure, Attempt attempt) {
                if (!failure && attempt) holds[i] = *std::move(attempt);
                ++in;
            });
        }
        ASSERT_TRUE(await([&] { return waiters().size() == count; }, 100s));
        writer.release();
        EXPECT_TRUE(await([&] { return in == count; }, 80s))
            << in << " are in; a third of the lease is 100 s";
        // What was acquired asynchronously is given back without waiting.
        holds.clear();
        ASSERT_TRUE(await([&] { return holders().empty(); }, 80s));
    }
}

}  // namespace
}  // namespace holdfast::test
