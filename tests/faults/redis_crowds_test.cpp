#include "faults/redis_faults.hpp"
#include "stores/scripted/words.hpp"
#include "support/contender.hpp"

/// Many in one line: what only Redis' layouts do with them; the rest is in crowds_test.cpp.
namespace holdfast::test {
namespace {

using State = Standing::State;
using Clock = std::chrono::steady_clock;

class RedisCrowds : public RedisFaults {
protected:
    static Contender reader(std::chrono::milliseconds lease = long_lease) {
        Contender one = PortUser::contender();
        one.weight = 1;
        one.form = Form::read_write;
        one.lease = lease;
        return one;
    }
    Ticket enter(const Contender& one) const { return user_.enter(one).value().front().ticket; }
    std::vector<Ticket> enter_readers(std::size_t count,
                                      std::chrono::milliseconds lease = long_lease) const {
        std::vector<Pending<std::vector<Entry>>> pending;
        for (std::size_t i = 0; i < count; ++i) {
            const Contender one = reader(lease);
            pending.push_back(user_.store().enter({&one, 1}));
        }
        std::vector<Ticket> tickets;
        for (auto& one : pending) tickets.push_back(std::move(one).get().value().front().ticket);
        return tickets;
    }
    Line line() const { return user_.store().look_at("orders").get().value().at(0); }

    /// Of several that are admitted, or offered a place.
    const std::string crowd_ = line_key("orders") + "#holders";
    std::size_t holders() const { return std::stoul(server_.command({"HLEN", crowd_})); }

    const PortUser user_{server_.url()};
};

TEST_F(RedisCrowds, AHolderThatIsDeletedByHandIsNotWaitedForBeyondItsLease) {
    enter_readers(2, 500ms);
    const Ticket waiter = enter(PortUser::contender());
    ASSERT_EQ(server_.command({"DEL", crowd_}), "1");
    EXPECT_TRUE(await([&] { return user_.standing(waiter) == State::offered; }));
    EXPECT_EQ(user_.renew(waiter), State::admitted);
}

TEST_F(RedisCrowds, AHolderThatIsDeletedByHandIsNotWaitedForBeyondTheLeaseOfOneThatJoinedIt) {
    Contender holder = PortUser::contender();
    holder.owner = "build";
    const Ticket first = enter(holder);
    Contender joined = PortUser::contender();
    joined.owner = holder.owner;
    joined.reenter = true;
    joined.lease = 500ms;
    enter(joined);
    const Ticket waiter = enter(PortUser::contender());
    ASSERT_EQ(server_.command({"HDEL", crowd_, scripted::hex_of(first.nonce)}), "1");
    EXPECT_TRUE(await([&] { return user_.standing(waiter) == State::offered; }, 10s));
    EXPECT_EQ(user_.renew(waiter), State::admitted);
}

TEST_F(RedisCrowds, OneRequestOffersABoundedNumberOfPlacesAndTheClaimsOfferTheRest) {
    constexpr std::size_t count = 2500;
    const Ticket writer = enter(PortUser::contender());
    const auto readers = enter_readers(count);
    ASSERT_TRUE(user_.leave(writer).ok());
    EXPECT_EQ(holders(), 100U);

    // Over the claim time, some are passed over, and come in when they are heard of again.
    std::size_t most = 0;
    for (const Ticket& reader : readers) {
        ASSERT_TRUE(await([&] {
            const std::size_t before = holders();
            const State state = user_.renew(reader);
            const std::size_t after = holders();
            if (after > before) most = std::max(most, after - before);
            return state == State::admitted;
        }));
    }
    EXPECT_EQ(holders(), count);
    EXPECT_LE(most, 101U) << "itself among them, if it was passed over";
    EXPECT_TRUE(line().waiters.empty());
}

TEST_F(RedisCrowds, AReaderThatLeavesACrowdInTheLayoutOfRedissonLooksAtABoundedNumberOfLeases) {
    const PortUser user(server_.url() + "?layout=redisson");
    std::vector<Ticket> readers;
    for (int i = 0; i < 600; ++i) {
        readers.push_back(user.enter(reader(30s)).value().front().ticket);
    }
    server_.command({"CONFIG", "RESETSTAT"});
    ASSERT_EQ(user.leave(readers.back()).value().state, State::admitted);
    const std::string statistics = server_.command({"INFO", "commandstats"});
    const std::string_view before = "cmdstat_pttl:calls=";
    const auto found = statistics.find(before);
    if (found != std::string::npos) {
        EXPECT_LE(std::stoul(statistics.substr(found + before.size())), 500U);
    }
    readers.pop_back();
    EXPECT_FALSE(rival("?layout=redisson").mutex("orders").try_lock());
    for (const Ticket& one : readers) ASSERT_TRUE(user.leave(one).ok());
    EXPECT_TRUE(rival("?layout=redisson").mutex("orders").try_lock());
}

TEST_F(RedisCrowds, ALongLineIsListedInPagesAndInOrder) {
    constexpr std::size_t count = 2500;
    enter(PortUser::contender());
    const auto tickets = enter_readers(count);
    const auto before = scripts_run(server_);
    const Line all_of_it = line();
    EXPECT_GE(scripts_run(server_) - before, count / 1000) << "in one piece";
    EXPECT_EQ(all_of_it.holders.size(), 1U);
    ASSERT_EQ(all_of_it.waiters.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(all_of_it.waiters[i].ticket.nonce, tickets[i].nonce) << i;
    }
}

TEST_F(RedisCrowds, ACrowdOfDeadWaitersIsTakenOutInPartsAndTheLivingOneBehindThemGetsIn) {
    const Ticket holder = enter(PortUser::contender("holdfast/orders"));
    std::vector<Contender> crowd;
    std::vector<Pending<std::vector<Entry>>> pending;
    for (int i = 0; i < 1800; ++i) {
        crowd.push_back(PortUser::contender("holdfast/orders"));
        crowd.back().lease = 3s;
        pending.push_back(user_.store().enter({&crowd.back(), 1}));
    }
    for (auto& one : pending) ASSERT_TRUE(std::move(one).get().ok());
    const Client ours = rival();
    Acquiring living(ours, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] {
        const auto lines = rival().inspect("orders");
        return lines.at(0).waiters.size() == 1;
    })) << "the others' leases have ended";
    const auto released = Clock::now();
    ASSERT_TRUE(user_.leave(holder).ok());
    living.get().release();
    EXPECT_LT(Clock::now() - released, 10s) << "a third of its lease is 20 s";
}

}  // namespace
}  // namespace holdfast::test
