#include <iostream>

#include "faults/zookeeper_faults.hpp"
#include "support/sanitized.hpp"
#include "support/soak.hpp"

/// What a lock costs the server: requests, watches and nodes.
namespace holdfast::test {
namespace {

/// How many requests of each kind pass a proxy.
class Requests {
public:
    explicit Requests(FaultProxy& proxy) {
        proxy.on_request([counted = counted_](auto request) {
            const std::lock_guard guard(counted->mutex);
            if (const auto verb = zookeeper_verb(request)) ++counted->of[*verb];
            return Verdict::pass;
        });
    }
    int of(Verb verb) const {
        const std::lock_guard guard(counted_->mutex);
        return counted_->of[verb];
    }
    int writes() const {
        return of(Verb::create) + of(Verb::remove) + of(Verb::write) + of(Verb::create_container);
    }
    int all() const {
        const std::lock_guard guard(counted_->mutex);
        int sum = 0;
        for (const auto& [verb, count] : counted_->of) sum += count;
        return sum;
    }

private:
    struct Counted {
        std::mutex mutex;
        std::map<Verb, int> of;
    };
    std::shared_ptr<Counted> counted_ = std::make_shared<Counted>();
};

class ZookeeperCost : public ZookeeperFaults {
protected:
    static std::string what_of(const std::exception_ptr& failure) {
        try {
            if (failure) std::rethrow_exception(failure);
        } catch (const std::exception& error) {
            return error.what();
        }
        return {};
    }
};

TEST_F(ZookeeperCost, TwoWritesAndOneListForEachAcquireAndRelease) {
    const auto user =
        connect("zookeeper://127.0.0.1:" + std::to_string(proxy_.port()) + "/cost?tick=500ms");
    // Somebody else is below the same container, so that it stays.
    const Hold neighbour = connect("zookeeper://" + server_.address() + "/cost?tick=500ms")
                               .mutex("orders/else", long_lived())
                               .acquire();
    auto mutex = user.mutex("orders", long_lived());
    const Requests requests(proxy_);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(mutex.acquire().release(), Released::in_time);
    EXPECT_EQ(requests.writes(), 20);
    EXPECT_EQ(requests.of(Verb::list), 10);
    EXPECT_EQ(requests.all(), 30) << "one flight each way, and nothing else";
}

TEST_F(ZookeeperCost, AFailedTryWritesNothingWhereTheLineWasSeenOccupied) {
    const Hold hold = rival().mutex("orders", long_lived()).acquire();
    const auto user = client();
    auto mutex = user.mutex("orders", brief());
    EXPECT_FALSE(mutex.try_lock()) << "the first one finds out";
    const Requests requests(proxy_);
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(mutex.try_lock());
    EXPECT_EQ(requests.writes(), 0);
    EXPECT_EQ(requests.of(Verb::list), 10);
    EXPECT_GE(requests.of(Verb::sync), 10) << "what it sees is not older than the call";
}

TEST_F(ZookeeperCost, AHandOffCostsTheSameWithTenWaitersAndWithFiveHundred) {
    constexpr std::size_t most = sanitized ? 100 : 500;
    for (const std::size_t count : {std::size_t{10}, most}) {
        const auto user =
            connect("zookeeper://127.0.0.1:" + std::to_string(proxy_.port()) + "/cost?tick=500ms");
        auto mutex = user.mutex("line", long_lived());
        std::optional<Hold> first = mutex.acquire();
        std::atomic<std::size_t> done{0};
        for (std::size_t i = 1; i <= count; ++i) {
            mutex.async_acquire([&](const std::exception_ptr& failure, Attempt attempt) {
                EXPECT_EQ(what_of(failure), "");
                if (attempt) attempt->release();
                ++done;
            });
            // Not all at once: each lists the whole line, and a busy machine has a request's time
            // for it. Each watches one other, and the last one also itself.
            const auto watches = static_cast<double>(i) + 1;
            if (i % 50 > 0 && i < count) continue;
            ASSERT_TRUE(await([&] { return server_.measured("watch_count") == watches; }));
        }
        const Requests requests(proxy_);
        first.reset();
        ASSERT_TRUE(await([&] { return done == count; }));
        const double hand_offs = static_cast<double>(count);
        std::cout << count << " waiters: for each hand-off " << requests.of(Verb::list) / hand_offs
                  << " lists, " << requests.of(Verb::read) / hand_offs << " reads, "
                  << requests.writes() / hand_offs << " writes\n";
        EXPECT_LE(requests.of(Verb::list) / hand_offs, 1.1);
        EXPECT_LE(requests.writes() / hand_offs, 1.2) << "its own release";
        EXPECT_LE((requests.of(Verb::read) + requests.of(Verb::exists)) / hand_offs, 0.1);
    }
}

TEST_F(ZookeeperCost, NamesUsedOnceLeaveNothingBehind) {
    const ZookeeperServer server(
        {.reaps_every = 200ms, .java_flags = {"-Dznode.container.maxPerMinute=10000000"}});
    const auto before = server.measured("znode_count");
    const int names = rounds(100, 1000);
    {
        const auto user = connect(server.url() + "?tick=500ms");
        std::vector<std::jthread> threads;
        for (int thread = 0; thread < 50; ++thread) {
            threads.emplace_back([&user, thread, names] {
                for (int i = 0; i < names; ++i) {
                    const std::string name = std::to_string(thread) + "-" + std::to_string(i);
                    EXPECT_EQ(user.mutex("job-" + name, long_lived()).acquire().release(),
                              Released::in_time);
                }
            });
        }
    }
    EXPECT_GT(server.measured("znode_count"), before);
    EXPECT_TRUE(await([&] { return server.measured("znode_count") == before; }, 60s))
        << server.measured("znode_count") << " are left of " << before;
}

}  // namespace
}  // namespace holdfast::test
