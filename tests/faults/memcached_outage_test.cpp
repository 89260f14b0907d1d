#include <ctime>

#include "faults/memcached_faults.hpp"

/// A memcached that forgets: because it was started again, had no room, or stood still.
namespace holdfast::test {
namespace {

class MemcachedOutage : public MemcachedTrap {
protected:
    using MemcachedTrap::MemcachedTrap;

    /// Within a third of the lease, and what a busy machine adds.
    void expect_told(const Hold& hold, Clock::time_point since, std::chrono::milliseconds lease) {
        EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
        EXPECT_LT(Clock::now() - since, lease / 3 + 1500ms);
        EXPECT_EQ(hold.loss(), Loss::ended);
        EXPECT_FALSE(hold.held());
    }
};

// --- started again ---

TEST_F(MemcachedOutage, EachHolderIsToldWithinAThirdOfItsLeaseThatItForgot) {
    constexpr auto lease = 9s;
    const Client one = rival();
    const Client other = rival();
    const Hold first = one.mutex("orders", {.lease = lease}).acquire();
    const Hold second = other.mutex("bills", {.lease = lease}).acquire();
    server_.kill();
    server_.restart();
    const auto restarted = Clock::now();
    expect_told(first, restarted, lease);
    expect_told(second, restarted, lease);
}

/// It counts versions from one again: those who held before and those who hold now have the same.
TEST_F(MemcachedOutage, AHolderFromBeforeTouchesNobodyWhoHasTheSameVersionNow) {
    constexpr auto lease = 3s;
    const Client before = rival();
    auto first = before.mutex("orders", {.lease = lease}).acquire();
    server_.kill();
    server_.restart();
    const auto restarted = Clock::now();
    const Client after = rival();
    auto second = after.mutex("orders", {.lease = lease}).acquire();
    expect_told(first, restarted, lease);
    EXPECT_NE(first.release(), Released::in_time);
    EXPECT_FALSE(await([&] { return !second.held(); }, 4s));
    EXPECT_EQ(second.release(), Released::in_time);
}

TEST_F(MemcachedOutage, AReleaseFromBeforeTouchesNobodyWhoHasTheSameVersionNow) {
    auto first = rival().mutex("orders", long_lived()).acquire();
    server_.kill();
    server_.restart();
    auto second = rival().mutex("orders", {.lease = 3s}).acquire();
    EXPECT_NE(first.release(), Released::in_time);
    EXPECT_FALSE(await([&] { return !second.held(); }, 4s));
    EXPECT_EQ(second.release(), Released::in_time);
}

TEST_F(MemcachedOutage, AWaiterOfOneThatWasStartedAgainComesIn) {
    const Client ours = connect(server_.url() + "?request_timeout=30s");
    auto hold = ours.mutex("orders", {.lease = 3s}).acquire();
    Acquiring waiting(connect(server_.url() + "?request_timeout=30s"), "orders", {.lease = 3s});
    EXPECT_FALSE(waiting.is_over(50ms));
    server_.kill();
    server_.restart();
    auto next = waiting.get();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_EQ(next.release(), Released::in_time);
}

TEST_F(MemcachedOutage, ARequestToOneThatIsDownWaitsForItOrFailsInItsTime) {
    const Client ours = connect(server_.url() + "?request_timeout=30s");
    ours.mutex("orders").acquire().release();
    server_.kill();
    try {
        connect(server_.url() + "?request_timeout=500ms");
        ADD_FAILURE() << "it connected";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::unreachable);
        EXPECT_NE(std::string(error.what()).find(server_.address()), std::string::npos);
    }
    Acquiring acquiring(ours, "orders");
    EXPECT_FALSE(acquiring.is_over(100ms));
    server_.restart();
    EXPECT_TRUE(acquiring.get().held());
}

// --- no room ---

class MemcachedWithLittleRoom : public MemcachedOutage {
protected:
    explicit MemcachedWithLittleRoom(std::vector<std::string> flags = {"-m", "2", "-I", "512k"})
        : MemcachedOutage({.flags = std::move(flags)}) {}
};

TEST_F(MemcachedWithLittleRoom, AHolderWhoseItemIsEvictedIsTold) {
    constexpr auto lease = 9s;
    const Hold hold = rival().mutex("orders", {.lease = lease}).acquire();
    server_.fill();
    const auto evicted = Clock::now();
    ASSERT_TRUE(is_free()) << "it is to be evicted";
    expect_told(hold, evicted, lease);
}

TEST_F(MemcachedWithLittleRoom, LocksGoOnWhileOthersAreEvicted) {
    std::atomic<bool> over{false};
    std::jthread filling([&] {
        while (!over) server_.fill(server_.stat("evictions") + 2000);
    });
    const Client ours = rival();
    int held = 0;
    for (int i = 0; i < 300; ++i) {
        auto hold = ours.mutex("orders").acquire();
        if (hold.release() == Released::in_time) ++held;
    }
    over = true;
    EXPECT_GT(held, 250);
}

class MemcachedWithRoomForLocks : public MemcachedWithLittleRoom {
protected:
    MemcachedWithRoomForLocks()
        : MemcachedWithLittleRoom({"-m", "2", "-I", "512k", "-o", "temporary_ttl=3600"}) {}
};

TEST_F(MemcachedWithRoomForLocks, AHoldOutlivesTheEvictionOfAllElse) {
    const Hold hold = rival().mutex("orders", {.lease = 6s}).acquire();
    server_.fill();
    EXPECT_FALSE(is_free());
    EXPECT_FALSE(await([&] { return !hold.held(); }, 7s));
}

class MemcachedThatEvictsNothing : public MemcachedWithLittleRoom {
protected:
    MemcachedThatEvictsNothing() : MemcachedWithLittleRoom({"-m", "2", "-I", "512k", "-M"}) {}
};

TEST_F(MemcachedThatEvictsNothing, ANewLockIsRefusedAndAHolderIsToldOfWhatItsRefusalRemoved) {
    constexpr auto lease = 6s;
    const Client ours = rival();
    auto hold = ours.mutex("orders", {.lease = lease}).acquire();
    server_.fill();
    ASSERT_FALSE(is_free());
    try {
        static_cast<void>(rival().mutex("other").acquire());
        ADD_FAILURE() << "there was room";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::unreachable);
        EXPECT_NE(std::string(error.what()).find("-M"), std::string::npos) << error.what();
    }
    // Memcached removes the item that it has no room to make anew.
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_FALSE(hold.held());
}

// --- standing still ---

TEST_F(MemcachedOutage, OneThatStandsStillForLessThanALeaseCostsNothing) {
    const Client ours = connect(server_.url() + "?request_timeout=1s");
    auto hold = ours.mutex("orders", {.lease = 12s}).acquire();
    Acquiring waiting(ours, "orders", {.lease = 12s});
    EXPECT_FALSE(waiting.is_over(300ms)) << "it waits by then";
    server_.pause();
    EXPECT_FALSE(waiting.is_over(4500ms)) << "a renewal fell into it";
    server_.resume();
    EXPECT_TRUE(hold.held());
    EXPECT_NE(hold.release(), Released::too_late);
    waiting.get().release();
    expect_free_soon();
}

TEST_F(MemcachedOutage, AHolderIsToldWhenItStandsStillForLongerThanItsLease) {
    const Client ours = connect(server_.url() + "?request_timeout=1s");
    auto hold = ours.mutex("orders", {.lease = 2s}).acquire();
    const auto stopped = Clock::now();
    server_.pause();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_LT(Clock::now() - stopped, 2s);
    EXPECT_EQ(hold.loss(), Loss::overdue);
    server_.resume();
    auto next = rival().mutex("orders", long_lived()).acquire();
    EXPECT_FALSE(hold.held());
    EXPECT_NE(hold.release(), Released::in_time);
    EXPECT_EQ(next.release(), Released::in_time);
}

/// It stores what has come before it looks at its clock again.
TEST_F(MemcachedOutage, AHoldThatItWasAskedForBeforeAPauseIsTrustedForNoLongerThanItsItemLives) {
    const Client ours = connect(server_.url() + "?request_timeout=30s");
    auto mutex = ours.mutex("orders", {.lease = 20s});
    const auto lag = [&] {
        return std::time(nullptr) - static_cast<std::time_t>(server_.stat("time"));
    };
    const auto usual_lag = lag();
    for (int i = 0; i < 3; ++i) {
        mutex.acquire().release();
        // Its clock is another thread's, which a busy machine may not have let run since.
        ASSERT_TRUE(await([&] { return lag() <= usual_lag; }));
        server_.pause();
        Acquiring acquiring([&](const std::stop_token&) { return mutex.acquire(); });
        EXPECT_FALSE(acquiring.is_over(3s)) << "it was sent in its first moment";
        server_.resume();
        const Hold hold = acquiring.get();
        const auto line = rival().look_at("orders");
        ASSERT_TRUE(line);
        EXPECT_GE(line->holders.at(0).lease_left, hold.remaining());
    }
}

TEST_F(MemcachedOutage, AHolderIsToldInASilentNetwork) {
    auto hold = client().mutex("orders", {.lease = 3s}).acquire();
    network_.black_hole();
    const auto silent = Clock::now();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_FALSE(hold.held());
    EXPECT_LT(Clock::now() - silent, 4s);
    auto next = rival().mutex("orders").acquire();
    EXPECT_FALSE(hold.held());
    network_.pass();
    EXPECT_NE(hold.release(), Released::in_time);
    EXPECT_TRUE(next.held());
}

// --- what waiting costs ---

TEST_F(MemcachedOutage, AWaiterAsksNoMoreThanTenTimesInASecond) {
    const Client holding = rival();
    const Hold hold = holding.mutex("orders", {.lease = 60s}).acquire();
    const Client waiting = client();
    const std::size_t before = network_.requests();
    const auto began = Clock::now();
    EXPECT_FALSE(waiting.mutex("orders", {.lease = 60s}).try_lock_for(3s));
    const auto seconds =
        std::chrono::duration_cast<std::chrono::duration<double>>(Clock::now() - began).count();
    EXPECT_LE(static_cast<double>(network_.requests() - before), 10 * seconds);
}

}  // namespace
}  // namespace holdfast::test
