#include <thread>

#include "faults/redis_faults.hpp"

/// Waiters whose connections end, in each layout.
namespace holdfast::test {
namespace {

using Clock = std::chrono::steady_clock;

class RedisWakes : public EachLayout {
protected:
    Acquiring begin_waiting() {
        const int before = counting_->waits;
        Acquiring waiting(ours_, "orders", {.lease = long_lease});
        EXPECT_TRUE(await([&] { return counting_->waits == before + 1; }));
        // It listens.
        EXPECT_TRUE(await([&] {
            const auto list = server_.command({"CLIENT", "LIST", "TYPE", "pubsub"});
            return list.find("name=holdfast ") != std::string::npos;
        }));
        return waiting;
    }
    void end_connections(const std::string& type) const {
        server_.command({"CLIENT", "KILL", "TYPE", type});
    }

    std::shared_ptr<Counting> counting_ = std::make_shared<Counting>();
    Client ours_ = client({.observer = counting_});
};
HOLDFAST_FOR_EACH_REDIS_LAYOUT(RedisWakes);

TEST_P(RedisWakes, AWaiterWhoseConnectionsAreKilledIsWoken) {
    for (const Words& types : {Words{"normal"}, Words{"pubsub"}, Words{"normal", "pubsub"}}) {
        auto holder = rival().mutex("orders", {.lease = long_lease}).acquire();
        auto waiting = begin_waiting();
        for (const auto& type : types) end_connections(type);
        const auto released = Clock::now();
        holder.release();
        waiting.get().release();
        EXPECT_LT(Clock::now() - released, 3s);
    }
    expect_nobody_left();
}

TEST_P(RedisWakes, AWaiterWhoseConnectionsAreKilledAfterTheReleaseIsWoken) {
    for (const std::string type : {"normal", "pubsub"}) {
        auto holder = rival().mutex("orders", {.lease = long_lease}).acquire();
        auto waiting = begin_waiting();
        proxy_.lose_pushes();
        const auto released = Clock::now();
        holder.release();
        end_connections(type);
        end_connections("pubsub");
        waiting.get().release();
        EXPECT_LT(Clock::now() - released, 3s) << "the lease is a minute";
        proxy_.pass();
    }
    expect_nobody_left();
}

TEST_P(RedisWakes, ManyWaitersAllComeThroughWhileTheirConnectionsAreKilled) {
    constexpr int threads = 8;
    constexpr int rounds = 12;
    volatile int counter = 0;
    std::atomic<int> done{0};
    std::vector<Client> clients;
    for (int i = 0; i < threads; ++i) clients.push_back(i % 2 == 0 ? ours_ : rival());
    {
        std::vector<std::jthread> contenders;
        for (const Client& own : clients) {
            contenders.emplace_back([&] {
                auto mutex = own.mutex("orders", {.lease = 20s});
                for (int round = 0; round < rounds; ++round) {
                    const auto hold = mutex.acquire();
                    counter = counter + 1;
                }
                ++done;
            });
        }
        std::uint32_t turn = 0;
        while (done < threads) {
            end_connections(++turn % 2 == 0 ? "normal" : "pubsub");
            std::this_thread::sleep_for(10ms);
        }
    }
    EXPECT_EQ(counter, threads * rounds);
    expect_nobody_left();
}

TEST_P(RedisWakes, WaitersOfAFlushedServerComeThroughAndFencesRise) {
    auto holder = rival().mutex("orders", {.lease = 900ms}).acquire();
    Acquiring waiting(ours_, "orders", {.lease = 900ms});
    ASSERT_TRUE(await([&] { return counting_->waits == 1; }));
    server_.flush();
    auto hold = waiting.get();
    EXPECT_GT(hold.fence(), holder.fence());
    const std::uint64_t highest = hold.fence();
    hold.release();
    EXPECT_TRUE(await([&] { return holder.lost().stop_requested(); }, 2s));
    EXPECT_EQ(holder.loss(), Loss::ended);
    holder.release();
    auto next = rival().mutex("orders").acquire();
    EXPECT_GT(next.fence(), highest);
    next.release();
    expect_nobody_left();
}

// --- the layouts of others alone ---

class RedisForeignWakes : public RedisWakes {};
INSTANTIATE_TEST_SUITE_P(Redis, RedisForeignWakes,
                         testing::Values(redis_layouts()[1], redis_layouts()[2]),
                         [](const auto& about) { return about.param.name; });

TEST_P(RedisForeignWakes, AForeignReleaseIsHeardAtOnceAlsoAfterTheTrackingWasLost) {
    for (const std::string type : {"nobody", "pubsub", "normal"}) {
        auto holder = rival().mutex("orders", {.lease = long_lease}).acquire();
        auto waiting = begin_waiting();
        if (type != "nobody") end_connections(type);
        ASSERT_TRUE(await([&] {
            const auto list = server_.command({"CLIENT", "LIST", "TYPE", "pubsub"});
            return list.find("name=holdfast ") != std::string::npos;
        }));
        const auto released = Clock::now();
        EXPECT_EQ(server_.command({"DEL", "orders"}), "1");
        waiting.get().release();
        EXPECT_LT(Clock::now() - released, type == "nobody" ? 500ms : 2s);
        holder.release();
    }
    expect_nobody_left();
}

/// A waiter is known to its own client only.
TEST_P(RedisForeignWakes, ALateClaimOfAWaiterWhoseLeaseEndedIsNoGhost) {
    auto holder = rival().mutex("orders", {.lease = long_lease}).acquire();
    const PortUser user(url_behind("&request_timeout=200ms"));
    Contender one = PortUser::contender();
    one.lease = 400ms;
    const Ticket ticket = user.enter(one).value().front().ticket;
    {
        const Ambush ambush(proxy_, asking(&RedisLayout::renew), {Verdict::hold});
        EXPECT_FALSE(user.store().renew({&ticket, 1}, one.lease).get().ok());
    }
    EXPECT_TRUE(await([&] { return user.standing(ticket) == Standing::State::gone; }));
    EXPECT_TRUE(await([&] { return server_.command({"KEYS", "holdfast_left:*"}) != "[]"; }));
    holder.release();
    const auto before = proxy_.late_replies();
    proxy_.let_pass();
    EXPECT_TRUE(await([&] { return proxy_.late_replies() > before; })) << "it did not come";
    expect_nobody_left();
}

TEST_P(RedisForeignWakes, AnUnheardForeignReleaseCostsABoundedLook) {
    auto holder = rival().mutex("orders", {.lease = long_lease}).acquire();
    auto waiting = begin_waiting();
    proxy_.lose_pushes();
    const auto released = Clock::now();
    EXPECT_EQ(server_.command({"DEL", "orders"}), "1");
    waiting.get().release();
    EXPECT_LT(Clock::now() - released, 2s) << "the lease is a minute";
    holder.release();
    expect_nobody_left();
}

}  // namespace
}  // namespace holdfast::test
