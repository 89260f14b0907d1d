#include "faults/zookeeper_faults.hpp"

/// Requests and replies that are lost, late or doubled: no ghost, no double, no hang.
namespace holdfast::test {
namespace {

class ZookeeperReplies : public ZookeeperFaults {
protected:
    /// Through the network that fails, and with all the time of the others.
    Client patient_client(const std::string& parameters = "") const {
        return client("&connect_timeout=10s" + parameters);
    }
};

/// With its number, and without what a success has in it.
std::string empty_reply_to(std::string_view request) {
    return std::string("\0\0\0\x10", 4) + std::string(request.substr(4, 4)) +
           std::string("\0\0\0\0\0\0\0\1\0\0\0\0", 12);
}
/// ZooKeeper's THROTTLEDOP.
std::string throttled_reply_to(std::string_view request) {
    std::string reply = empty_reply_to(request);
    return reply.replace(reply.size() - 4, 4, "\xff\xff\xff\x81");
}

TEST_F(ZookeeperReplies, ACreateThatComesAfterItWasGivenUpIsTakenOut) {
    // Else its container would not be there when it comes, and it would be refused.
    const Hold below = rival().mutex("orders/below", long_lived()).acquire();
    const auto user = patient_client("&request_timeout=500ms");
    const Ambush ambush(proxy_, asking(Verb::create), {Verdict::hold});
    // The server would end the first connection when the session is taken up by another.
    proxy_.refuse();
    EXPECT_EQ(error_of([&] { return user.mutex("orders", long_lived()).acquire(); }).code(),
              errc::unreachable);
    EXPECT_EQ(ambush.seen(), 1U);
    proxy_.let_pass();
    ASSERT_TRUE(await([&] { return holders("orders") == 1; })) << "it has come";
    proxy_.pass();
    EXPECT_TRUE(await(
        [&] {
            static_cast<void>(user.mutex("other", brief()).try_acquire());
            return holders("orders") == 0;
        },
        5s))
        << "before its session ends";
    const Hold next = rival().mutex("orders", long_lived()).acquire();
    EXPECT_TRUE(next.held());
}

TEST_F(ZookeeperReplies, ACreateThatComesAfterItsRepetitionLeavesNoGhost) {
    const Hold below = rival().mutex("orders/below", long_lived()).acquire();
    const auto user = client("&connect_timeout=500ms");
    const auto connections = server_.measured("num_alive_connections");
    // Kept back until the client has given up the connection and tried again by the next one.
    const Ambush ambush(proxy_, asking(Verb::create), {Verdict::hold});
    auto hold = user.mutex("orders", long_lived()).acquire();
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(ambush.seen(), 2U);
    EXPECT_EQ(proxy_.connections(), 2U);
    // The server itself ends the first one when the session is taken up by the second: what is in
    // it cannot come any more.
    ASSERT_TRUE(await([&] { return server_.measured("num_alive_connections") <= connections; }));
    proxy_.let_pass();
    EXPECT_TRUE(await([&] { return holders("orders") + waiters("orders") == 1; }));
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_TRUE(await([&] {
        static_cast<void>(user.mutex("other", brief()).try_acquire());
        return holders("orders") == 0;
    }));
}

TEST_F(ZookeeperReplies, APredecessorThatGoesBetweenTheListAndTheWatchIsNoticed) {
    auto first = rival().mutex("orders", long_lived()).acquire();
    const auto user = client();
    const Ambush ambush(proxy_, asking(Verb::read), {Verdict::hold});
    Acquiring second(user, "orders", {.lease = 2s});
    ASSERT_TRUE(ambush.await_seen(1));
    first.release();
    proxy_.let_pass();
    EXPECT_TRUE(second.is_over(600ms)) << "before it looks with its renewal";
    EXPECT_TRUE(second.get().held());
}

/// Contenders at the port, whose nodes somebody deletes.
class ZookeeperDeleted : public ZookeeperReplies {
protected:
    struct Waiting {
        Ticket ticket;
        std::unique_ptr<Watch> watch = nullptr;
        std::shared_ptr<std::atomic<int>> told = std::make_shared<std::atomic<int>>(0);
        std::shared_ptr<std::atomic<bool>> gone = std::make_shared<std::atomic<bool>>(false);
    };
    static Contender contender(std::uint8_t number, std::uint64_t weight, std::uint64_t capacity) {
        return {.resource = "orders",
                .nonce = {.bytes = {std::byte{number}}},
                .owner = "it",
                .weight = weight,
                .capacity = capacity,
                .form = capacity == all ? Form::read_write : Form::permits,
                .lease = 10s};
    }
    static Entry entered(Store& store, const Contender& contender) {
        const auto result = store.enter({&contender, 1}).get();
        EXPECT_TRUE(result.ok());
        return result.value().front();
    }
    static Waiting waits(Store& store, const Contender& contender) {
        Waiting waiting{.ticket = entered(store, contender).ticket};
        waiting.watch = store.watch(
            waiting.ticket, [told = waiting.told, gone = waiting.gone](const Standing& standing) {
                if (standing.state == Standing::State::gone) *gone = true;
                ++*told;
            });
        return waiting;
    }
    static Standing::State state_of(Store& store, const Ticket& ticket) {
        const auto standing = store.standing(ticket).get();
        return standing.ok() ? standing.value().state : Standing::State::offered;
    }
};

TEST_F(ZookeeperDeleted, AWaiterWhoseNodeWasDeletedIsToldAtOnceAndNeverAdmitted) {
    const auto store = open_store(url_at(proxy_.port(), "?tick=500ms&prefix=")).store;
    const auto others = open_store(url_at(server_.port(), "?tick=500ms&prefix=")).store;
    struct Case {
        std::uint64_t first;
        std::uint64_t second;
        std::uint64_t capacity;
    };
    // A writer behind a writer, a reader behind a writer, permits.
    for (const auto& [first, second, capacity] :
         {Case{all, all, all}, Case{all, 1, all}, Case{2, 2, 3}}) {
        const Wire::Interest serves = store->wire().interest();
        const Ticket holder = entered(*others, contender(1, first, capacity)).ticket;
        const Waiting waiting = waits(*store, contender(2, second, capacity));
        const Waiting third = waits(*store, contender(3, second, capacity));
        // By its place, as `break` does.
        const Ticket listed{"orders", {}, waiting.ticket.place};
        ASSERT_TRUE(others->leave(listed).get().ok());
        EXPECT_TRUE(await([&] { return waiting.gone->load(); }, 2s));
        ASSERT_TRUE(others->leave(holder).get().ok());
        ASSERT_TRUE(await([&] { return *third.told > 0; }));
        EXPECT_EQ(state_of(*store, waiting.ticket), Standing::State::gone);
        EXPECT_TRUE(
            await([&] { return state_of(*store, third.ticket) == Standing::State::admitted; }));
        ASSERT_TRUE(store->leave(third.ticket).get().ok());
        ASSERT_TRUE(store->leave(waiting.ticket).get().ok());
    }
}

TEST_F(ZookeeperDeleted, AWaiterWhoseNodeWasDeletedWhileItsConnectionWasDownIsNeverAdmitted) {
    const auto store = open_store(url_at(proxy_.port(), "?tick=500ms&prefix=")).store;
    const auto others = open_store(url_at(server_.port(), "?tick=500ms&prefix=")).store;
    const Wire::Interest serves = store->wire().interest();
    const Ticket holder = entered(*others, contender(1, all, all)).ticket;
    const Waiting waiting = waits(*store, contender(2, all, all));
    ASSERT_TRUE(await([&] { return server_.measured("watch_count") > 0; }));
    proxy_.refuse();
    proxy_.cut();
    ASSERT_TRUE(others->leave({"orders", {}, waiting.ticket.place}).get().ok());
    ASSERT_TRUE(others->leave(holder).get().ok());
    const Ticket rival = entered(*others, contender(4, all, all)).ticket;
    proxy_.pass();
    ASSERT_TRUE(await([&] { return *waiting.told > 0; }));
    EXPECT_EQ(state_of(*store, waiting.ticket), Standing::State::gone);
    ASSERT_TRUE(others->leave(rival).get().ok());
}

TEST_F(ZookeeperDeleted, AWaiterWhoseNodeWasDeletedMeanwhileIsNotAdmittedByALaterEndEither) {
    const auto store = open_store(url_at(proxy_.port(), "?tick=500ms&prefix=")).store;
    const auto others = open_store(url_at(server_.port(), "?tick=500ms&prefix=")).store;
    const Wire::Interest serves = store->wire().interest();
    const Ticket holder = entered(*others, contender(1, all, all)).ticket;
    const Waiting waiting = waits(*store, contender(2, all, all));
    ASSERT_TRUE(await([&] { return server_.measured("watch_count") > 0; }));
    proxy_.refuse();
    proxy_.cut();
    ASSERT_TRUE(others->leave({"orders", {}, waiting.ticket.place}).get().ok());
    proxy_.pass();
    ASSERT_TRUE(await([&] { return *waiting.told > 0; })) << "that it has changed";
    const int told = *waiting.told;
    ASSERT_TRUE(others->leave(holder).get().ok());
    ASSERT_TRUE(await([&] { return *waiting.told > told; }));
    const Ticket rival = entered(*others, contender(4, all, all)).ticket;
    EXPECT_EQ(state_of(*store, waiting.ticket), Standing::State::gone);
    ASSERT_TRUE(others->leave(rival).get().ok());
}

TEST_F(ZookeeperDeleted, ADeletionThatIsThrottledIsMadeAgain) {
    // Servers with such a tick would grant no shorter session than six seconds.
    const auto store = open_store(url_at(proxy_.port(), "?tick=3s&prefix=")).store;
    const Wire::Interest serves = store->wire().interest();
    Contender brief_one = contender(1, all, all);
    brief_one.lease = 500ms;
    const Ticket ticket = entered(*store, brief_one).ticket;
    const Moment over = BootClock::now() + brief_one.lease;
    std::atomic<int> deletions = 0;
    proxy_.on_request([&](std::string_view request) {
        if (zookeeper_verb(request) == Verb::remove && deletions++ == 0) {
            proxy_.garbage(throttled_reply_to(request));
        }
        return Verdict::pass;
    });
    ASSERT_TRUE(await([&] { return BootClock::now() > over; }));
    EXPECT_TRUE(await(
        [&] {
            // Each verb tidies up.
            EXPECT_EQ(state_of(*store, ticket), Standing::State::gone);
            return deletions > 1;
        },
        3s));
}

/// What takes it out is kept back.
TEST_F(ZookeeperReplies, ADisagreementWithOneThatWillNotWaitIsTheLaterOnesToo) {
    Hold first = rival().semaphore("slots", 3, long_lived()).acquire(3);
    const auto user = patient_client();
    const Ambush ambush(proxy_, asking(Verb::multi), {Verdict::hold});
    auto second = std::async(
        std::launch::async, [&] { return user.semaphore("slots", 3, long_lived()).try_acquire(); });
    ASSERT_TRUE(ambush.await_seen(1));
    first.release();
    auto others = rival().semaphore("slots", 5, long_lived());
    EXPECT_EQ(error_of([&] { return others.acquire(); }).code(), errc::conflict);
    proxy_.pass();
    const auto taken = second.get();
    EXPECT_TRUE(taken) << "it is free, and it is the first";
}

TEST_F(ZookeeperReplies, AHoldWhoseCreateWasNotAnsweredIsTrustedForItsWholeLease) {
    // Keeps the container, so that there is one create.
    const Hold below = rival().mutex("orders/below", long_lived()).acquire();
    const auto user = client("&connect_timeout=1s");
    const LockOptions options{.lease = 3s};
    user.mutex("orders", options).acquire().release();
    // What the last write has proved is of no use any more.
    const auto since = Clock::now();
    ASSERT_TRUE(await([&] { return Clock::now() - since > 2500ms; }));
    const Ambush ambush(proxy_, asking(Verb::create), {Verdict::cut_after});
    const Hold hold = user.mutex("orders", options).acquire();
    EXPECT_EQ(ambush.seen(), 1U);
    EXPECT_GT(hold.remaining(), 2s);
}

TEST_F(ZookeeperReplies, APredecessorThatIsAdmittedBetweenTheListAndTheWatchIsNoticed) {
    auto others = rival().semaphore("slots", 3, long_lived());
    Hold first = others.acquire(2);
    auto second = std::async(std::launch::async, [&] { return others.acquire(2); });
    ASSERT_TRUE(await_waiters("slots", 1));
    const auto user = patient_client();
    const Ambush ambush(proxy_, asking(Verb::read), {Verdict::hold});
    auto third = std::async(std::launch::async,
                            [&] { return user.semaphore("slots", 3, long_lived()).acquire(); });
    ASSERT_TRUE(ambush.await_seen(1));
    first.release();
    const Hold present = second.get();
    proxy_.let_pass();
    EXPECT_EQ(third.wait_for(2s), std::future_status::ready) << "before it looks with its renewal";
    EXPECT_TRUE(third.get().held());
}

TEST_F(ZookeeperReplies, OneThatIsAdmittedAtOnceTellsThoseBehindIt) {
    auto others = rival().semaphore("slots", 3, long_lived());
    Hold first = others.acquire(2);
    const auto user = patient_client();
    user.mutex("other", brief()).acquire().release();
    // Its node is there; it does not know yet where it stands.
    const Ambush ambush(proxy_, asking(Verb::list), {Verdict::hold});
    auto second = std::async(std::launch::async,
                             [&] { return user.semaphore("slots", 3, long_lived()).acquire(2); });
    ASSERT_TRUE(await_waiters("slots", 1));
    auto third = std::async(std::launch::async, [&] { return others.acquire(1); });
    ASSERT_TRUE(await_waiters("slots", 2));
    ASSERT_TRUE(await([&] { return server_.measured("watch_count") > 0; }));
    first.release();
    proxy_.let_pass();
    const Hold present = second.get();
    EXPECT_EQ(third.wait_for(2s), std::future_status::ready) << "before it looks with its renewal";
    EXPECT_TRUE(third.get().held());
}

TEST_F(ZookeeperReplies, AParentThatIsReapedWhileJoiningIsMadeAgain) {
    const auto user = client();
    // Its containers are there, and empty.
    user.mutex("orders", brief()).acquire().release();
    const auto nodes = server_.measured("znode_count");
    const Ambush ambush(proxy_, asking(Verb::create), {Verdict::hold});
    Acquiring joining(user, "orders", brief());
    ASSERT_TRUE(ambush.await_seen(1));
    ASSERT_TRUE(await([&] { return server_.measured("znode_count") < nodes; }));
    proxy_.let_pass();
    const Hold hold = joining.get();
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(holders("orders"), 1U);
}

TEST_F(ZookeeperReplies, GarbageEndsTheConnectionAndNothingElse) {
    const auto user = client();
    for (const std::string& garbage :
         {std::string("\xff\xff\xff\xff", 4), std::string("\0\0\0\2hi", 6),
          std::string("\0\0\0\x10\0\0\0\x7f\0\0\0\0\0\0\0\1\0\0\0\0", 20)}) {
        proxy_.garbage(garbage);
        auto hold = user.mutex("orders", brief()).acquire();
        EXPECT_EQ(hold.release(), Released::in_time);
    }
    EXPECT_TRUE(await_nobody("orders"));
}

TEST_F(ZookeeperReplies, ANameBelowABargingOneIsRefusedAtOnce) {
    const Hold above = rival().mutex("a", {.lease = 10s, .fairness = Fairness::barging}).acquire();
    const auto user = client();
    const auto connections = proxy_.connections();
    const auto start = Clock::now();
    for (const char* name : {"a/b", "a/b/c"}) {
        const auto refused = error_of([&] { return user.mutex(name, long_lived()).acquire(); });
        EXPECT_EQ(refused.code(), errc::conflict);
        expect_says(refused, "barging");
    }
    EXPECT_LT(Clock::now() - start, 3s) << "not after request_timeout";
    EXPECT_EQ(proxy_.connections(), connections);
    EXPECT_TRUE(above.held());
}

TEST_F(ZookeeperReplies, AListThatIsRefusedLeavesNobodyInLine) {
    std::atomic<int> left = 1;
    const auto user = client();
    // Somebody else is below the same container, so that it is there, and stays.
    const Hold neighbour = rival().mutex("orders/else", long_lived()).acquire();
    proxy_.on_request([&](std::string_view request) {
        if (zookeeper_verb(request) == Verb::list && left-- > 0) {
            proxy_.garbage(throttled_reply_to(request));
        }
        return Verdict::pass;
    });
    const auto refused = error_of([&] { return user.mutex("orders", brief()).try_acquire(); });
    EXPECT_EQ(refused.code(), errc::unreachable);
    expect_says(refused, "more requests than it can serve");
    EXPECT_EQ(holders("orders"), 0U) << "it is told when its node is gone";
}

TEST_F(ZookeeperReplies, ARefusedRenewalEndsNoHold) {
    std::atomic<int> refused = 0;
    const auto user = client();
    const Hold hold = user.mutex("orders", {.lease = 2s}).acquire();
    proxy_.on_request([&](std::string_view request) {
        if (zookeeper_verb(request) == Verb::exists && refused++ == 0) {
            proxy_.garbage(throttled_reply_to(request));
        }
        return Verdict::pass;
    });
    ASSERT_TRUE(await([&] { return refused > 1; })) << "it is renewed again";
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(holders("orders"), 1U);
}

TEST_F(ZookeeperReplies, OnesThatAreEmptyAreTakenForLostOnes) {
    std::atomic<bool> emptied = false;
    const auto user = client();
    user.mutex("orders", brief()).acquire().release();
    for (const Verb verb : {Verb::create, Verb::list}) {
        emptied = false;
        proxy_.on_request([&, verb](std::string_view request) {
            if (zookeeper_verb(request) == verb && !emptied.exchange(true)) {
                proxy_.garbage(empty_reply_to(request));
            }
            return Verdict::pass;
        });
        auto hold = user.mutex("orders", brief()).acquire();
        EXPECT_TRUE(emptied);
        EXPECT_TRUE(hold.held());
        EXPECT_EQ(holders("orders"), 1U);
        EXPECT_EQ(waiters("orders"), 0U);
        hold.release();
        EXPECT_TRUE(await_nobody("orders"));
    }
}

}  // namespace
}  // namespace holdfast::test
