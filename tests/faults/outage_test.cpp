#include "faults/sites.hpp"
#include "support/arena.hpp"
#include "support/contender.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

/// A server that dies, stands still, or forgets.
namespace holdfast::test {
namespace {

class Outage : public Trap {
protected:
    Outage() : Trap(Serving::this_test) {}

    ServerProcess& server() const { return site_->server(); }
    static constexpr const char* impatient = "request_timeout=1s";
};
HOLDFAST_AT_SITES(Outage);

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
    Crowd(const std::string& url, LockOptions options, Guarded& guarded) {
        for (int i = 0; i < 6; ++i) {
            threads_.emplace_back(
                [=, client = connect(url), &guarded](const std::stop_token& stop) {
                    auto mutex = client.mutex("orders", options);
                    while (!stop.stop_requested()) {
                        try {
                            if (const auto hold = mutex.try_acquire_for(500ms))
                                guarded.visit(*hold);
                        } catch (const Error& error) {
                            EXPECT_EQ(error.code(), errc::unreachable) << error.what();
                        }
                    }
                });
        }
    }

private:
    std::vector<std::jthread> threads_;
};

TEST_P(Outage, AServerThatIsKilledAndKeepsItsDataLetsNobodyInTwice) {
    Guarded guarded;
    {
        const Crowd crowd(site_->url(impatient), brief(), guarded);
        for (int i = 0; i < 3; ++i) {
            const int before = guarded.visits();
            ASSERT_TRUE(await([&] { return guarded.visits() > before + 10; })) << "stuck, " << i;
            server().kill();
            server().restart();
        }
        const int before = guarded.visits();
        EXPECT_TRUE(await([&] { return guarded.visits() > before + 10; }));
    }
    EXPECT_EQ(guarded.meetings(), 0);
    EXPECT_EQ(guarded.old_fences(), 0);
    expect_free();
}

TEST_P(Outage, AHoldAndAWaiterOutliveAServerThatIsBackWithItsDataInTime) {
    const Client ours = rival("request_timeout=30s");
    auto hold = ours.mutex("orders", {.lease = 30s}).acquire();
    Acquiring waiting(rival("request_timeout=30s"), "orders", {.lease = 30s});
    ASSERT_TRUE(await_waits(1));
    server().kill();
    server().restart();
    EXPECT_TRUE(hold.held());
    EXPECT_FALSE(await([&] { return !hold.held(); }, 1s));
    EXPECT_FALSE(waiting.is_over());
    EXPECT_NE(hold.release(), Released::too_late);
    auto next = waiting.get();
    EXPECT_GT(next.fence(), hold.fence());
    next.release();
    expect_free();
}

TEST_P(Outage, AHoldOfAServerThatForgotIsToldAndItsClientLocksAgain) {
    const Client ours = rival(impatient);
    auto mutex = ours.mutex("orders", brief());
    auto hold = mutex.acquire();
    server().restart_empty();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_FALSE(hold.held());
    EXPECT_NE(hold.release(), Released::in_time);
    const auto works = [&] {
        try {
            return mutex.acquire().held();
        } catch (const Error&) {
            return false;
        }
    };
    EXPECT_TRUE(await(works));
}

TEST_P(Outage, AWaiterOfAServerThatForgotComesAgain) {
    const Client ours = rival("request_timeout=30s");
    auto hold = ours.mutex("orders", brief()).acquire();
    Acquiring waiting(ours, "orders", brief());
    ASSERT_TRUE(await_waits(1));
    server().kill();
    server().restart_empty();
    auto next = waiting.get();
    EXPECT_TRUE(!GetParam().fences_by_clock || next.fence() > hold.fence());
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_FALSE(hold.held());
    hold.release();
    next.release();
    expect_free();
}

TEST_P(Outage, ARequestToAServerThatIsDownWaitsForItToComeBack) {
    const Client ours = rival("request_timeout=30s");
    ours.mutex("orders").acquire().release();
    server().kill();
    const Error refused = error_of([&] { return rival(impatient); });
    EXPECT_EQ(refused.code(), errc::unreachable);
    expect_says(refused, server().address());
    Acquiring acquiring(ours, "orders");
    EXPECT_FALSE(acquiring.is_over(100ms));
    server().restart();
    auto hold = acquiring.get();
    EXPECT_TRUE(hold.held());
    EXPECT_NE(hold.release(), Released::too_late);
    EXPECT_NO_THROW(rival());
}

TEST_P(Outage, ARequestToAServerThatStaysDownFailsInItsTimeLimitWithoutEffect) {
    const Client ours = rival("request_timeout=500ms");
    auto mutex = ours.mutex("orders", long_lived());
    mutex.acquire().release();
    server().kill();
    // The first may have gone out before it was known that nobody is there.
    for (const bool first : {true, false}) {
        const auto start = Clock::now();
        const Error error = error_of([&] { return mutex.acquire(); });
        EXPECT_EQ(error.code(), errc::unreachable);
        EXPECT_TRUE(first || error.effect() == Effect::none) << error.what();
        EXPECT_LT(Clock::now() - start, 4s);
    }
}

// --- standing still ---

TEST_P(Outage, AServerThatStandsStillForLessThanALeaseCostsNothing) {
    const Client ours = rival(impatient);
    auto hold = ours.mutex("orders", {.lease = 9s}).acquire();
    Acquiring waiting(ours, "orders", {.lease = 9s});
    ASSERT_TRUE(await_waits(1));
    server().pause();
    EXPECT_FALSE(waiting.is_over(3500ms)) << "a renewal fell into it";
    server().resume();
    EXPECT_TRUE(hold.held());
    EXPECT_FALSE(hold.lost().stop_requested());
    EXPECT_NE(hold.release(), Released::too_late);
    waiting.get().release();
    expect_free();
}

TEST_P(Outage, AHolderIsToldWhenTheServerStandsStillForLongerThanItsLease) {
    const auto lease = 2 * GetParam().brief;
    const Client ours = rival(impatient);
    auto hold = ours.mutex("orders", {.lease = lease}).acquire();
    Acquiring waiting(ours, "orders", {.lease = lease});
    ASSERT_TRUE(await_waits(1));
    const auto stopped = Clock::now();
    server().pause();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_LT(Clock::now() - stopped, lease);
    EXPECT_EQ(error_of([&] { return waiting.get(); }).code(), errc::unreachable)
        << "it holds nothing, so it came again, in vain";
    const auto asked = Clock::now();
    auto mutex = ours.mutex("orders");
    EXPECT_EQ(error_of([&] { return mutex.acquire(); }).code(), errc::unreachable);
    EXPECT_LT(Clock::now() - asked, 4s);
    EXPECT_FALSE(hold.held());
    server().resume();
    auto next = rival().mutex("orders", long_lived()).acquire();
    EXPECT_GT(next.fence(), hold.fence());
    EXPECT_FALSE(hold.held());
    EXPECT_NE(hold.release(), Released::in_time);
    EXPECT_TRUE(next.held());
    next.release();
    expect_free();
}

TEST_P(Outage, AWaiterThatTheServerForgetsDuringItComesThrough) {
    const Client ours = rival("request_timeout=30s");
    auto hold = ours.mutex("orders", long_lived()).acquire();
    Acquiring waiting(rival("request_timeout=30s"), "orders", brief());
    ASSERT_TRUE(await_waits(1));
    server().pause();
    EXPECT_FALSE(waiting.is_over(2 * GetParam().brief)) << "longer than its lease";
    server().resume();
    hold.release();
    auto next = waiting.get();
    EXPECT_GT(next.fence(), hold.fence());
    next.release();
    expect_free();
}

TEST_P(Outage, WhoeverNamedATimeWaitsForTheServerToo) {
    const Client ours = rival("request_timeout=500ms");
    auto mutex = ours.mutex("orders");
    mutex.acquire().release();
    server().pause();
    const auto began = Clock::now();
    EXPECT_EQ(error_of([&] { return mutex.try_acquire_for(1500ms); }).code(), errc::unreachable);
    EXPECT_GE(Clock::now() - began, 1500ms) << "longer than a request's time";
    auto patient = std::async([&] { return mutex.try_acquire_for(30s); });
    EXPECT_EQ(patient.wait_for(800ms), std::future_status::timeout);
    server().resume();
    const Attempt attempt = patient.get();
    EXPECT_TRUE(attempt);
}

// --- a server whose fences come from its clock, and rise whatever it forgets ---

class Oblivion : public Outage {};
HOLDFAST_AT_SITES(Oblivion, &StoreAtSite::fences_by_clock);

TEST_P(Oblivion, StillGivesRisingFencesAndNobodyIsStuck) {
    std::uint64_t highest = 0;
    Guarded guarded;
    {
        const Crowd crowd(site_->url(impatient), brief(), guarded);
        for (int i = 0; i < 3; ++i) {
            const int before = guarded.visits();
            ASSERT_TRUE(await([&] { return guarded.visits() > before + 10; })) << "stuck, " << i;
            auto last = rival().mutex("orders", brief()).acquire();
            EXPECT_GT(last.fence(), highest);
            server().kill();
            server().restart_empty();
            // The holder of then is told, and the next one has a larger fence all the same.
            EXPECT_TRUE(await([&] { return last.lost().stop_requested(); }));
            EXPECT_NE(last.release(), Released::in_time);
            highest = rival().mutex("orders", brief()).acquire().fence();
            EXPECT_GT(highest, last.fence());
        }
    }
    EXPECT_EQ(guarded.old_fences(), 0);
    expect_free();
}

// --- under load ---

class Load : public Outage {
protected:
    static constexpr int processes = 8;
    static constexpr int rounds = sanitized ? 20 : 60;

    /// Lets processes count what nothing guards but the lock, while `trouble` is made, again and
    /// again.
    template <class Trouble>
    void count_amid(const std::string& url, Trouble trouble) {
        const TemporaryFolder folder;
        const std::string file = folder.path() / "arena";
        const SharedArena arena(file);
        const Contenders contenders(url);
        std::vector<Child> counting;
        for (int i = 0; i < processes; ++i)
            counting.push_back(contenders.busy("count", file, rounds));
        ASSERT_TRUE(await([&] { return arena->ready == processes; }));
        arena->go = true;
        while (arena->counter < processes * rounds) {
            const auto before = arena->counter;
            trouble();
            const auto next = std::min<std::uint64_t>(before + 60, processes * rounds);
            ASSERT_TRUE(await([&] { return arena->counter >= next; }, 60s))
                << "stuck at " << before;
        }
        for (Child& child : counting) EXPECT_TRUE(ended_well(child, 60s));
        EXPECT_EQ(arena->counter, static_cast<std::uint64_t>(processes) * rounds);
        expect_free();
    }
};
HOLDFAST_AT_SITES(Load);

TEST_P(Load, TheCountIsExactWhileTheServerEndsAllSessions) {
    count_amid(site_->url_behind("request_timeout=60s"), [&] { site_->end_sessions(); });
}

TEST_P(Load, TheCountIsExactWhileTheServerIsRestarted) {
    count_amid(site_->url("request_timeout=60s&connect_timeout=20s"), [&, restarts = 0]() mutable {
        if (restarts++ < 2) server().restart();
    });
}

}  // namespace
}  // namespace holdfast::test
