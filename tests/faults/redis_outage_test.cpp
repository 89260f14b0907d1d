#include <algorithm>
#include <future>
#include <mutex>
#include <thread>

#include "faults/redis_faults.hpp"
#include "support/arena.hpp"
#include "support/contender.hpp"
#include "support/sanitized.hpp"

/// A server that dies, stands still, loads, or forgets.
namespace holdfast::test {
namespace {

using Clock = std::chrono::steady_clock;

/// A server of the test's own.
class RedisOutage : public testing::Test {
protected:
    static constexpr const char* impatient = "?request_timeout=500ms";

    Client client(const std::string& parameters = "") const {
        return connect(server_.url() + parameters);
    }
    std::size_t waiters(const Client& client) const { return waiters_of(client, "orders"); }

    RedisServer server_{{.settings = {"appendonly yes", "appendfsync always"}}};
};

// --- killed and started again ---

/// What a lock guards. It knows who was let in last and still believes to be alone.
class Guarded {
public:
    void visit(const Hold& hold) {
        {
            const std::lock_guard guard(mutex_);
            if (hold.held() && believer_ != nullptr && believer_->held()) ++meetings_;
            if (hold.held() && hold.fence() <= highest_) ++old_fences_;
            highest_ = std::max(highest_, hold.fence());
            believer_ = &hold;
            ++visits_;
        }
        std::this_thread::yield();
        const std::lock_guard guard(mutex_);
        if (believer_ == &hold) believer_ = nullptr;
    }
    int meetings() const { return meetings_; }
    int old_fences() const { return old_fences_; }
    int visits() const { return visits_; }

private:
    std::mutex mutex_;
    const Hold* believer_ = nullptr;
    std::uint64_t highest_ = 0;
    std::atomic<int> meetings_{0};
    std::atomic<int> old_fences_{0};
    std::atomic<int> visits_{0};
};

/// Contenders that go on whatever the server does.
class Crowd {
public:
    Crowd(const std::string& url, Guarded& guarded) {
        for (int i = 0; i < 6; ++i) {
            threads_.emplace_back([client = connect(url), &guarded](const std::stop_token& stop) {
                auto mutex = client.mutex("orders", {.lease = 1s});
                while (!stop.stop_requested()) {
                    try {
                        if (const auto hold = mutex.try_acquire_for(500ms)) guarded.visit(*hold);
                    } catch (const Error& error) {
                        const auto code = error.code();
                        EXPECT_TRUE(code == errc::unreachable) << error.what();
                    }
                }
            });
        }
    }

private:
    std::vector<std::jthread> threads_;
};

TEST_F(RedisOutage, AServerThatIsKilledAndKeepsItsDataLetsNobodyInTwice) {
    Guarded guarded;
    {
        const Crowd crowd(server_.url() + impatient, guarded);
        for (int i = 0; i < 4; ++i) {
            const int before = guarded.visits();
            ASSERT_TRUE(await([&] { return guarded.visits() > before + 20; })) << "stuck, " << i;
            server_.kill();
            server_.restart(Data::kept);
        }
        const int before = guarded.visits();
        EXPECT_TRUE(await([&] { return guarded.visits() > before + 20; }));
    }
    EXPECT_EQ(guarded.meetings(), 0);
    EXPECT_EQ(guarded.old_fences(), 0);
    expect_nobody_left(server_);
}

TEST_F(RedisOutage, AServerThatForgetsStillGivesRisingFencesAndNobodyIsStuck) {
    std::uint64_t highest = 0;
    Guarded guarded;
    {
        const Crowd crowd(server_.url() + impatient, guarded);
        for (int i = 0; i < 4; ++i) {
            const int before = guarded.visits();
            ASSERT_TRUE(await([&] { return guarded.visits() > before + 20; })) << "stuck, " << i;
            auto last = client().mutex("orders", {.lease = 1s}).acquire();
            EXPECT_GT(last.fence(), highest);
            server_.kill();
            server_.restart(Data::lost);
            // The holder of then is told, and the next one has a larger fence all the same.
            EXPECT_TRUE(await([&] { return last.lost().stop_requested(); }, 2s));
            EXPECT_NE(last.release(), Released::in_time);
            highest = client().mutex("orders", {.lease = 1s}).acquire().fence();
            EXPECT_GT(highest, last.fence());
        }
    }
    EXPECT_EQ(guarded.old_fences(), 0);
    expect_nobody_left(server_);
}

TEST_F(RedisOutage, AHoldOutlivesAServerThatIsBackWithItsDataInTime) {
    const Client ours = client(impatient);
    auto hold = ours.mutex("orders", {.lease = 5s}).acquire();
    Acquiring waiting(ours, "orders", {.lease = 5s});
    ASSERT_TRUE(await([&] { return waiters(ours) == 1; }));
    server_.kill();
    server_.restart(Data::kept);
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(hold.release(), Released::in_time);
    auto next = waiting.get();
    EXPECT_GT(next.fence(), hold.fence());
    next.release();
    expect_nobody_left(server_);
}

TEST(RedisSnapshot, OfBeforeTheAdmissionEndsTheHold) {
    RedisServer server;
    const Client ours = connect(server.url());
    auto before = connect(server.url()).mutex("orders", {.lease = long_lease}).acquire();
    Acquiring waiting(ours, "orders", {.lease = 3s});
    ASSERT_TRUE(await([&] { return waiters_of(ours, "orders") == 1; }));
    server.command({"SAVE"});
    before.release();
    auto hold = waiting.get();
    server.kill();
    server.restart(Data::kept);
    // There it waits behind one that has left: the place is anybody's who comes when that ends.
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_FALSE(hold.held());
    EXPECT_EQ(hold.loss(), Loss::ended);
    EXPECT_NE(hold.release(), Released::in_time);
}

TEST_F(RedisOutage, AWaiterThatTheServerForgetsDuringAnOutageComesThrough) {
    const Client ours = client(impatient);
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    Acquiring waiting(client("?request_timeout=20s"), "orders", {.lease = 500ms});
    ASSERT_TRUE(await([&] { return waiters(ours) == 1; }));
    server_.stop();
    EXPECT_FALSE(waiting.is_over(1s)) << "longer than its lease";
    server_.go_on();
    hold.release();
    auto next = waiting.get();
    EXPECT_GT(next.fence(), hold.fence());
    next.release();
    expect_nobody_left(server_);
}

TEST_F(RedisOutage, WhoeverNamedATimeWaitsForTheServerToo) {
    const Client ours = client(impatient);
    auto mutex = ours.mutex("orders");
    server_.stop();
    const auto began = Clock::now();
    EXPECT_EQ(error_of([&] { return mutex.try_acquire_for(1s); }).code(), errc::unreachable);
    EXPECT_GE(Clock::now() - began, 1s) << "longer than a request's time";
    auto patient = std::async([&] { return mutex.try_acquire_for(30s); });
    EXPECT_EQ(patient.wait_for(800ms), std::future_status::timeout);
    server_.go_on();
    const Attempt attempt = patient.get();
    EXPECT_TRUE(attempt);
}

TEST_F(RedisOutage, WaitersOfAServerThatForgotComeAgain) {
    const Client ours = client(impatient);
    auto hold = ours.mutex("orders", {.lease = 900ms}).acquire();
    Acquiring waiting(ours, "orders", {.lease = 900ms});
    ASSERT_TRUE(await([&] { return waiters(ours) == 1; }));
    server_.kill();
    server_.restart(Data::lost);
    auto next = waiting.get();
    EXPECT_GT(next.fence(), hold.fence());
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }, 2s));
    hold.release();
    next.release();
    expect_nobody_left(server_);
}

TEST_F(RedisOutage, ARequestToAServerThatIsDownWaitsForItToComeBack) {
    const Client ours = client();
    server_.kill();
    const Error refused = error_of([&] { return client(); });
    EXPECT_EQ(refused.code(), errc::unreachable);
    expect_says(refused, "127.0.0.1:" + std::to_string(server_.port()));
    expect_says(refused, "refused");
    Acquiring acquiring(ours, "orders");
    EXPECT_FALSE(acquiring.is_over(50ms));
    server_.restart();
    auto hold = acquiring.get();
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_NO_THROW(client());
}

TEST_F(RedisOutage, ARequestToAServerThatStaysDownFailsInItsTimeLimitWithoutEffect) {
    auto mutex = client("?request_timeout=300ms").mutex("orders");
    server_.kill();
    // The first may have gone out before it was known that nobody is there.
    for (const bool first : {true, false}) {
        const auto start = Clock::now();
        const Error error = error_of([&] { return mutex.acquire(); });
        EXPECT_EQ(error.code(), errc::unreachable);
        if (!first) {
            EXPECT_EQ(error.effect(), Effect::none);
        }
        EXPECT_LT(Clock::now() - start, 900ms);
    }
}

// --- standing still ---

TEST_F(RedisOutage, AServerThatStandsStillForLessThanALeaseCostsNothing) {
    const Client ours = client(impatient);
    auto hold = ours.mutex("orders", {.lease = 3s}).acquire();
    Acquiring waiting(ours, "orders", {.lease = 3s});
    ASSERT_TRUE(await([&] { return waiters(ours) == 1; }));
    server_.stop();
    EXPECT_FALSE(waiting.is_over(1200ms)) << "a renewal fell into it";
    server_.go_on();
    EXPECT_TRUE(hold.held());
    EXPECT_FALSE(hold.lost().stop_requested());
    EXPECT_EQ(hold.release(), Released::in_time);
    waiting.get().release();
    expect_nobody_left(server_);
}

TEST_F(RedisOutage, AHolderIsToldWhenTheServerStandsStillForLongerThanItsLease) {
    constexpr auto lease = 2s;
    const Client ours = client(impatient);
    auto hold = ours.mutex("orders", {.lease = lease}).acquire();
    Acquiring waiting(ours, "orders", {.lease = lease});
    ASSERT_TRUE(await([&] { return waiters(ours) == 1; }));
    const auto stopped = Clock::now();
    server_.stop();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_LT(Clock::now() - stopped, lease);
    EXPECT_EQ(error_of([&] { return waiting.get(); }).code(), errc::unreachable)
        << "it holds nothing, so it came again, in vain";
    const auto asked = Clock::now();
    auto mutex = ours.mutex("orders");
    EXPECT_EQ(error_of([&] { return mutex.acquire(); }).code(), errc::unreachable);
    EXPECT_LT(Clock::now() - asked, 1s);
    EXPECT_FALSE(hold.held());
    server_.go_on();
    auto next = ours.mutex("orders", {.lease = lease}).acquire();
    EXPECT_GT(next.fence(), hold.fence());
    EXPECT_FALSE(hold.held());
    EXPECT_NE(hold.release(), Released::in_time);
    EXPECT_TRUE(next.held());
    next.release();
    expect_nobody_left(server_);
}

// --- loading, busy ---

/// A server whose start takes a while, and who answers meanwhile that it is loading.
class RedisLoading : public testing::Test {
protected:
    RedisLoading() {
        for (int i = 0; i < 300; ++i) {
            server_.command({"SET", "ballast/" + std::to_string(i), std::string(1000, 'x')});
        }
        server_.command({"SAVE"});
    }
    std::size_t times_loading() const {
        return server_.command({"INFO", "errorstats"}).find("errorstat_LOADING") !=
               std::string::npos;
    }

    RedisServer server_{
        {.settings = {"key-load-delay 3000", "loading-process-events-interval-bytes 1024"}}};
};

TEST_F(RedisLoading, ARequestWaitsUntilTheServerHasLoadedItsData) {
    const Client ours = connect(server_.url());
    server_.kill();
    const auto restarting = std::async(std::launch::async, [&] { server_.restart(); });
    auto hold = ours.mutex("orders").acquire();
    restarting.wait();
    EXPECT_GT(times_loading(), 0U);
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_F(RedisLoading, ARequestThatCannotWaitSaysThatTheServerIsLoadingAndLeavesNobody) {
    server_.kill();
    const auto restarting = std::async(std::launch::async, [&] { server_.restart(); });
    std::optional<Client> ours;
    const auto connected = [&] {
        try {
            ours.emplace(connect(server_.url() + "?request_timeout=200ms"));
        } catch (const Error&) {
        }
        return ours.has_value();
    };
    ASSERT_TRUE(await(connected)) << "it takes connections while it loads";
    auto mutex = ours->mutex("orders", {.lease = long_lease});
    const auto start = Clock::now();
    const Error error = error_of([&] { return mutex.acquire(); });
    EXPECT_LT(Clock::now() - start, 600ms);
    EXPECT_EQ(error.code(), errc::unreachable);
    expect_says(error, "loading");
    restarting.wait();
    // Of no effect, unless the last answer was on its way when the time was up.
    const auto is_free = [&] {
        return server_.command({"HEXISTS", "{holdfast/orders}", "head"}) == "0";
    };
    EXPECT_TRUE(await(is_free));
}

TEST_F(RedisOutage, ARequestWaitsWhileTheServerIsBusyWithAScriptOfSomebodyElses) {
    server_.command({"CONFIG", "SET", "busy-reply-threshold", "20"});
    const Client ours = client();
    const auto running = std::async(std::launch::async, [&] {
        return server_.command({"EVAL", "while true do end", "0"});
    });
    ASSERT_TRUE(await([&] { return server_.command({"PING"}).starts_with("-BUSY"); }));
    Acquiring acquiring(ours, "orders");
    EXPECT_FALSE(acquiring.is_over(200ms));
    EXPECT_EQ(server_.command({"SCRIPT", "KILL"}), "OK");
    acquiring.get().release();
    expect_nobody_left(server_);
}

// --- under load ---

class RedisLoad : public testing::Test {
protected:
    static constexpr int processes = 4;
    static constexpr int rounds = sanitized ? 50 : 150;

    /// Lets processes count under a lock while `trouble` is made, again and again.
    template <class Trouble>
    void count_amid(Trouble trouble) {
        const SharedArena arena(folder_.path() / "arena");
        const Contenders contenders(server_.url());
        std::vector<Child> counting;
        for (int i = 0; i < processes; ++i) {
            counting.push_back(contenders.busy("count", folder_.path() / "arena", rounds));
        }
        ASSERT_TRUE(await([&] { return arena->ready == processes; }));
        arena->go = true;
        while (arena->counter < processes * rounds) {
            const auto before = arena->counter;
            trouble();
            const auto next = std::min<std::uint64_t>(before + 5, processes * rounds);
            ASSERT_TRUE(await([&] { return arena->counter >= next; })) << "stuck at " << before;
        }
        for (Child& child : counting) EXPECT_TRUE(ended_well(child));
        EXPECT_EQ(arena->counter, static_cast<std::uint64_t>(processes) * rounds);
        expect_nobody_left(server_);
    }

    TemporaryFolder folder_;
    RedisServer server_;
};

TEST_F(RedisLoad, TheCountIsExactWhileScriptsAreFlushed) {
    count_amid([&] { server_.command({"SCRIPT", "FLUSH"}); });
}

TEST_F(RedisLoad, TheCountIsExactWhileAllConnectionsAreKilled) {
    int turn = 0;
    count_amid([&] {
        server_.command({"CLIENT", "KILL", "TYPE", ++turn % 2 == 0 ? "normal" : "pubsub"});
    });
}

}  // namespace
}  // namespace holdfast::test
