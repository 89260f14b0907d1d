#include <condition_variable>
#include <deque>
#include <new>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "port/wire.hpp"
#include "support/suite.hpp"

namespace holdfast {
namespace {

/// A wire on which messages arrive when a test sends them; each is a callback.
class Mailbox final : public Wire {
public:
    Mailbox() : bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    ~Mailbox() override {
        close();
        ::close(bell_);
    }

    void send(Callback<void()> message) {
        {
            const std::lock_guard guard(mutex_);
            messages_.push_back(std::move(message));
        }
        const std::uint64_t one = 1;
        EXPECT_EQ(write(bell_, &one, sizeof one), 8);
    }
    /// Something is under way that nobody waits for.
    void have_it_looked_at(std::chrono::milliseconds time) { lead_by(BootClock::now() + time); }
    int leading() const { return leading_; }
    std::thread::id last_leader() const { return last_leader_; }

private:
    void turn(std::optional<Moment> until, Due& due) override {
        last_leader_ = std::this_thread::get_id();
        EXPECT_EQ(++leading_, 1) << "one leads at a time";
        pollfd both[] = {{.fd = interrupt_descriptor(), .events = POLLIN, .revents = 0},
                         {.fd = bell_, .events = POLLIN, .revents = 0}};
        poll(both, 2, poll_timeout(until));
        if (both[0].revents != 0) take_interrupt();
        if (both[1].revents != 0) take_messages(due);
        --leading_;
    }
    void take_messages(Due& due) {
        std::uint64_t count = 0;
        static_cast<void>(!read(bell_, &count, sizeof count));
        const std::lock_guard guard(mutex_);
        for (auto& message : messages_) due.push_back(std::move(message));
        messages_.clear();
    }

    int bell_;
    std::mutex mutex_;
    std::deque<Callback<void()>> messages_;
    std::atomic<int> leading_{0};
    std::atomic<std::thread::id> last_leader_;
};

TEST(AWire, RemembersASignalThatCameBeforeTheWait) {
    Wire wire;
    Wire::Waiter waiter;
    wire.signal(waiter);
    EXPECT_TRUE(wire.wait(waiter));
    EXPECT_FALSE(wire.wait(waiter, BootClock::now() + 1ms)) << "a signal is taken once";
}

/// A wire whose first turn fails.
class Stumbling final : public Wire {
public:
    ~Stumbling() override { close(); }

private:
    void turn(std::optional<Moment> until, Due& due) override {
        if (!std::exchange(stumbled_, true)) throw std::bad_alloc();
        Wire::turn(until, due);
    }
    bool stumbled_ = false;
};

TEST(AWire, IsLedByTheNextOneWhenALeaderFails) {
    Stumbling wire;
    Wire::Waiter first;
    EXPECT_THROW(wire.wait(first), std::bad_alloc);
    Wire::Waiter second;
    EXPECT_FALSE(wire.wait(second, BootClock::now() + 1ms));
    std::jthread thread([&] { wire.signal(second); });
    EXPECT_TRUE(wire.wait(second));
}

TEST(AWire, CallsTheOthersWhenACallbackFails) {
    Mailbox wire;
    Wire::Waiter first;
    std::atomic<bool> called{false};
    wire.send([] { throw std::bad_alloc(); });
    wire.send([&] {
        called = true;
        wire.signal(first);
    });
    EXPECT_THROW(wire.wait(first), std::bad_alloc);
    EXPECT_TRUE(called);
    EXPECT_TRUE(wire.wait(first));
    Wire::Waiter second;
    wire.send([&] { wire.signal(second); });
    EXPECT_TRUE(wire.wait(second));
}

TEST(AWire, IsLedByItsPumpAfterACallbackFailed) {
    Mailbox wire;
    std::atomic<int> called{0};
    const auto interest = wire.interest();
    for (int i = 1; i <= 3; ++i) {
        wire.send([] { throw std::bad_alloc(); });
        wire.send([&] { ++called; });
        ASSERT_TRUE(await([&] { return called == i; }));
    }
    Wire::Waiter waiter;
    wire.send([&] { wire.signal(waiter); });
    EXPECT_TRUE(wire.wait(waiter));
}

TEST(AWire, EndsAWaitAtItsTime) {
    Wire wire;
    Wire::Waiter waiter;
    const Moment until = BootClock::now() + 5ms;
    EXPECT_FALSE(wire.wait(waiter, until));
    EXPECT_GE(BootClock::now(), until);
}

TEST(AWire, EndsAFollowersWaitAtItsTimeThoughTheLeaderGoesOn) {
    Mailbox wire;
    Wire::Waiter leader;
    std::jthread leading([&] { wire.wait(leader); });
    ASSERT_TRUE(await([&] { return wire.leading() == 1; }));
    Wire::Waiter follower;
    EXPECT_FALSE(wire.wait(follower, BootClock::now() + 5ms));
    wire.signal(leader);
}

TEST(AWire, LetsTheCallerThatWaitsReadForEverybody) {
    Mailbox wire;
    Wire::Waiter leader;
    Wire::Waiter follower;
    std::atomic<bool> followed{false};
    std::jthread leading([&] { wire.wait(leader); });
    ASSERT_TRUE(await([&] { return wire.leading() == 1; }));
    std::jthread following([&] {
        wire.wait(follower);
        followed = true;
    });
    std::thread::id run_by;
    wire.send([&] {
        run_by = std::this_thread::get_id();
        wire.signal(follower);
    });
    ASSERT_TRUE(await([&] { return followed.load(); }));
    EXPECT_EQ(run_by, leading.get_id());
    wire.signal(leader);
}

TEST(AWire, PassesTheLeadershipOnWhenTheLeaderLeaves) {
    Mailbox wire;
    Wire::Waiter first;
    Wire::Waiter second;
    std::jthread leading([&] { wire.wait(first); });
    ASSERT_TRUE(await([&] { return wire.leading() == 1; }));
    std::jthread following([&] { wire.wait(second); });
    wire.signal(first);
    leading.join();
    ASSERT_TRUE(await([&] { return wire.last_leader() == following.get_id(); }));
    wire.send([&] { wire.signal(second); });
}

TEST(AWire, LetsAPumpLeadWhileSomebodyExpectsCallbacksAndNobodyIsBlocked) {
    Mailbox wire;
    std::atomic<bool> called{false};
    const auto interest = wire.interest();
    wire.send([&] { called = true; });
    EXPECT_TRUE(await([&] { return called.load(); }));
}

TEST(AWire, BringsNoCallbackWithoutInterestUntilACallerWaits) {
    Mailbox wire;
    bool called = false;
    { const auto interest = wire.interest(); }
    Wire::Waiter waiter;
    wire.wait(waiter, BootClock::now() + 1ms);  // whatever the pump began has ended
    wire.send([&] {
        called = true;
        wire.signal(waiter);
    });
    EXPECT_TRUE(wire.wait(waiter));
    EXPECT_TRUE(called);
}

TEST(AWire, IsLookedAtOnceByThePumpWhenThatIsAskedForAndNobodyWaits) {
    Mailbox mailbox;
    mailbox.have_it_looked_at(1ms);
    mailbox.make_ready();
    std::atomic<int> called{0};
    mailbox.send([&] { ++called; });
    EXPECT_FALSE(await([&] { return called == 1; }, 50ms)) << "before there was a pump";
    const auto began = BootClock::now();
    mailbox.have_it_looked_at(100ms);
    mailbox.have_it_looked_at(10min);
    EXPECT_TRUE(await([&] { return called == 1; }));
    EXPECT_GE(BootClock::now() - began, 100ms);
    mailbox.send([&] { ++called; });
    EXPECT_FALSE(await([&] { return called == 2; }, 50ms)) << "once for each time";
}

TEST(AWire, IsLookedAtByThePumpAtTheEarliestMomentThatIsAskedFor) {
    Mailbox mailbox;
    mailbox.make_ready();
    std::atomic<bool> called{false};
    mailbox.send([&] { called = true; });
    mailbox.have_it_looked_at(10min);
    mailbox.have_it_looked_at(1ms);
    EXPECT_TRUE(await([&] { return called.load(); }, 5s));
}

TEST(AWire, LetsACallerTakeOverFromThePump) {
    Mailbox wire;
    const auto interest = wire.interest();
    ASSERT_TRUE(await([&] { return wire.leading() == 1; }));
    Wire::Waiter waiter;
    std::jthread caller([&] { wire.wait(waiter); });
    EXPECT_TRUE(await([&] { return wire.last_leader() == caller.get_id(); }));
    wire.signal(waiter);
}

TEST(AWire, LetsThePumpGoOnWhenTheLastCallerLeaves) {
    Mailbox wire;
    const auto interest = wire.interest();
    Wire::Waiter waiter;
    std::atomic<bool> called{false};
    wire.wait(waiter, BootClock::now() + 2ms);
    wire.send([&] { called = true; });
    EXPECT_TRUE(await([&] { return called.load(); }));
}

TEST(AWire, RunsCallbacksWithoutLeadershipSoThatOnesMayBlockTheOthersGoOn) {
    Mailbox wire;
    const auto interest = wire.interest();
    std::atomic<bool> inside{false};
    std::atomic<bool> release{false};
    wire.send([&] {
        inside = true;
        release.wait(false);
    });
    ASSERT_TRUE(await([&] { return inside.load(); }));
    Wire::Waiter waiter;
    wire.send([&] { wire.signal(waiter); });
    EXPECT_TRUE(wire.wait(waiter)) << "a caller leads while the pump is in a callback";
    release = true;
    release.notify_all();
}

TEST(AWire, RefusesToWaitInsideACallback) {
    const CallbackScope scope;
    EXPECT_THROW(refuse_inside_callback(), std::logic_error);
}

TEST(AWire, MayBeDestroyedByItsOwnCallback) {
    auto wire = std::make_unique<Mailbox>();
    auto interest = std::make_unique<Wire::Interest>(wire->interest());
    std::atomic<bool> destroyed{false};
    Mailbox& mailbox = *wire;
    mailbox.send([&] {
        interest.reset();
        wire.reset();
        destroyed = true;
    });
    EXPECT_TRUE(await([&] { return destroyed.load(); }));
}

TEST(AWire, ServesManyThreadsThatAnswerEachOther) {
    Mailbox wire;
    constexpr int threads = 8;
    constexpr int rounds = 200;
    std::atomic<int> answered{0};
    std::vector<std::jthread> callers;
    for (int i = 0; i < threads; ++i) {
        callers.emplace_back([&] {
            for (int round = 0; round < rounds; ++round) {
                Wire::Waiter waiter;
                wire.send([&] { wire.signal(waiter); });
                if (wire.wait(waiter, BootClock::now() + 30s)) ++answered;
            }
        });
    }
    callers.clear();
    EXPECT_EQ(answered, threads * rounds);
}

TEST(AWire, ServesCallersAndInterestsAtOnce) {
    Mailbox wire;
    std::atomic<int> called{0};
    std::atomic<int> answered{0};
    constexpr int rounds = 200;
    std::jthread asynchronous([&] {
        for (int round = 0; round < rounds; ++round) {
            const auto interest = wire.interest();
            const int before = called;
            wire.send([&] { ++called; });
            EXPECT_TRUE(await([&] { return called > before; }));
        }
    });
    for (int round = 0; round < rounds; ++round) {
        Wire::Waiter waiter;
        wire.send([&] { wire.signal(waiter); });
        if (wire.wait(waiter, BootClock::now() + 30s)) ++answered;
    }
    asynchronous.join();
    EXPECT_EQ(answered, rounds);
    EXPECT_EQ(called, rounds);
}

}  // namespace
}  // namespace holdfast
