#include <set>

#include "faults/etcd_faults.hpp"
#include "stores/open_store.hpp"

/// Requests and replies that are lost, late or doubled: no ghost, no double, no hang.
namespace holdfast::test {
namespace {

class EtcdReplies : public EtcdFaults {
protected:
    /// So that the next request is the one that a test is about.
    Client warm_client(const LockOptions& options) const {
        auto user = client();
        user.mutex("warm", options).acquire().release();
        return user;
    }
};

/// They would cost those behind them two requests each.
TEST_F(EtcdReplies, WhoeverNobodyWaitsForAnyMoreDoesNotEnter) {
    const auto opened = open_store(url_behind("&connect_timeout=10s&request_timeout=10s"));
    Store& store = *opened.store;
    const auto enter = [&](std::uint8_t number) {
        const Contender one{.resource = opened.prefix + "orders",
                            .nonce = {.bytes = {std::byte{number}}},
                            .owner = "it",
                            .lease = 30s};
        return store.enter({&one, 1});
    };
    std::atomic<int> entered = 0;
    proxy_.on_request([&](auto request) {
        if (etcd_verb(request) != EtcdVerb::enter) return Verdict::pass;
        return entered++ == 0 ? Verdict::hold : Verdict::pass;
    });
    const Wire::Interest serves = store.wire().interest();
    auto first = enter(1);
    ASSERT_TRUE(await([&] { return entered > 0; }));
    for (std::uint8_t number = 2; number < 22; ++number) {
        EXPECT_FALSE(enter(number).get(BootClock::now()).ok());
    }
    auto last = enter(22);
    proxy_.let_pass();
    EXPECT_TRUE(std::move(first).get().ok());
    const auto result = std::move(last).get();
    ASSERT_TRUE(result.ok()) << result.failure().sentence;
    EXPECT_EQ(result.value().front().standing.state, Standing::State::waiting);
    EXPECT_EQ(entered, 2);
    proxy_.pass();
}

/// Two ways to one server, each of which may keep back a request, and all behind it: that the
/// client gives it up, above all.
class EtcdLateRequests : public EtcdReplies {
protected:
    std::string url_of_both(const std::string& parameters) const {
        return "etcd://127.0.0.1:" + std::to_string(proxy_.port()) +
               ",127.0.0.1:" + std::to_string(other_way_.port()) + "?prefix=" + prefix() +
               parameters;
    }
    Client client_of_both(const std::string& parameters = "") const {
        auto user = connect(url_of_both(parameters));
        user.mutex("warm", {.lease = 30s}).acquire().release();
        return user;
    }
    /// On either way, as many as are said.
    void keep_back(EtcdVerb verb, int count) {
        left_ = count;
        for (FaultProxy* way : {&proxy_, &other_way_}) {
            way->on_request([this, verb, keeps = std::make_shared<bool>(false)](auto request) {
                if (etcd_verb(request) == verb && left_-- > 0) *keeps = true;
                return *keeps ? Verdict::hold : Verdict::pass;
            });
        }
    }
    bool are_kept_back() const { return left_ <= 0; }
    void let_all_pass() {
        proxy_.let_pass();
        other_way_.let_pass();
    }
    /// What the key of the one in line for it is bound to.
    std::string lease_of(const std::string& name) const {
        const auto there = keys(name);
        if (there.empty()) return "";
        const std::string fields = server_.ctl({"get", there.at(0), "--write-out=fields"});
        const std::string word = "\"Lease\" : ";
        const auto begin = fields.find(word) + word.size();
        return fields.substr(begin, fields.find('\n', begin) - begin);
    }
    [[nodiscard]] bool is_ghost_seen(std::chrono::milliseconds limit) const {
        return await([&] { return !keys("orders").empty(); }, limit);
    }

    FaultProxy other_way_{server_.port(), http2_protocol};

private:
    std::atomic<int> left_{0};
};

TEST_F(EtcdLateRequests, AnEnterThatComesAfterItWasGivenUpIsTakenOut) {
    const auto user = client_of_both("&connect_timeout=500ms&request_timeout=3s");
    keep_back(EtcdVerb::enter, 2);
    const auto failed = error_of([&] { return user.mutex("orders", {.lease = 30s}).acquire(); });
    EXPECT_EQ(failed.code(), errc::unreachable);
    ASSERT_TRUE(are_kept_back());
    for (FaultProxy* way : {&other_way_, &proxy_}) {
        way->let_pass();
        way->pass();
        static_cast<void>(user.mutex("other", {.lease = 30s}).try_acquire());
    }
    EXPECT_TRUE(await([&] { return keys("orders").empty(); })) << "before its lease ends";
    EXPECT_FALSE(is_ghost_seen(1s));
}

TEST_F(EtcdLateRequests, AnEndOfOneThatWasRefusedThatComesLateLeavesTheNextOneAlone) {
    auto permit = rival().semaphore("orders", 3, {.lease = 30s}).acquire();
    const auto user = client_of_both("&connect_timeout=500ms");
    auto mutex = user.mutex("orders", {.lease = 30s});
    keep_back(EtcdVerb::leave, 1);
    EXPECT_EQ(error_of([&] { return mutex.acquire(); }).code(), errc::conflict);
    ASSERT_TRUE(are_kept_back());
    EXPECT_EQ(permit.release(), Released::in_time);
    const Hold next = mutex.acquire();
    const auto there = keys("orders");
    let_all_pass();
    EXPECT_FALSE(await([&] { return keys("orders") != there; }, 1s));
    EXPECT_TRUE(next.held());
}

TEST_F(EtcdLateRequests, AKeyIsNotUsedAgainWhileADeletionOfItIsUnderWay) {
    const auto opened = open_store(url_of_both("&connect_timeout=1s"));
    Store& store = *opened.store;
    const Wire::Interest serves = store.wire().interest();
    const auto enter = [&](std::uint8_t number) {
        const Contender one{.resource = opened.prefix + "orders",
                            .nonce = {.bytes = {std::byte{number}}},
                            .owner = "it",
                            .lease = 30s};
        return store.enter({&one, 1}).get().value().front().ticket;
    };
    const Ticket first = enter(1);
    const auto before = keys("orders");
    keep_back(EtcdVerb::keep_alive, 1);
    std::atomic<bool> renewed = false;
    store.renew({&first, 1}, 30s).then([&](const auto&) { renewed = true; });
    ASSERT_TRUE(await([&] { return are_kept_back(); }));
    EXPECT_FALSE(await([&] { return renewed.load(); }, 500ms));
    // The first time it is asked of the member that says nothing, then of the other one.
    EXPECT_FALSE(store.leave(first).get(BootClock::now()).ok());
    ASSERT_TRUE(await([&] { return renewed.load(); }));
    EXPECT_TRUE(store.leave(first).get().ok());
    ASSERT_TRUE(keys("orders").empty());
    const Ticket next = enter(2);
    const auto there = keys("orders");
    ASSERT_EQ(there.size(), 1U);
    EXPECT_NE(there, before) << "the first deletion may still come";
    let_all_pass();
    EXPECT_FALSE(await([&] { return keys("orders") != there; }, 1s));
    EXPECT_TRUE(store.leave(next).get().ok());
}

TEST_F(EtcdLateRequests, AnEnterOfAHoldWhoseKeyWasDeletedThatComesLateIsRefused) {
    const auto user = client_of_both("&connect_timeout=500ms");
    keep_back(EtcdVerb::enter, 1);
    const Hold hold = user.mutex("orders", {.lease = 3s}).acquire();
    ASSERT_TRUE(are_kept_back());
    server_.ctl({"del", keys("orders").at(0)});
    EXPECT_TRUE(await([&] { return guarded("orders"); }, 3s)) << "as soon as that is seen";
    EXPECT_FALSE(hold.held());
    let_all_pass();
    EXPECT_FALSE(is_ghost_seen(1s));
}

TEST_F(EtcdLateRequests, AnEnterOfAWaiterWhoseKeyWasDeletedThatComesLateIsRefused) {
    const Hold first = rival().mutex("orders", long_lived()).acquire();
    const auto user = client_of_both("&connect_timeout=500ms");
    keep_back(EtcdVerb::enter, 1);
    Acquiring waiter(user, "orders", {.lease = 30s});
    ASSERT_TRUE(await([&] { return are_kept_back() && keys("orders").size() == 2; }));
    // It knows of it, and watches.
    EXPECT_FALSE(waiter.is_over(200ms));
    server_.ctl({"del", keys("orders").at(1)});
    EXPECT_TRUE(await([&] { return guarded("orders"); }, 3s)) << "as soon as that is seen";
    let_all_pass();
    ASSERT_TRUE(await([&] { return keys("orders").size() == 2; })) << "it has come again";
    EXPECT_FALSE(await([&] { return keys("orders").size() > 2; }, 1s));
}

TEST_F(EtcdLateRequests, AnEnterOfOneThatNobodyRenewedThatComesLateIsRefused) {
    const auto opened = open_store(url_of_both("&connect_timeout=500ms"));
    Store& store = *opened.store;
    const auto enter = [&](std::uint8_t number, const std::string& name) {
        const Contender one{.resource = opened.prefix + name,
                            .nonce = {.bytes = {std::byte{number}}},
                            .owner = "it",
                            .lease = 2s};
        return store.enter({&one, 1}).get().value().front().ticket;
    };
    // Which keeps the lease alive that both came with.
    const Ticket renewed = enter(1, "other");
    keep_back(EtcdVerb::enter, 1);
    const Ticket lapsed = enter(2, "orders");
    ASSERT_TRUE(are_kept_back());
    EXPECT_EQ(keys("orders").size(), 1U);
    EXPECT_TRUE(await([&] {
        EXPECT_TRUE(store.renew({&renewed, 1}, 2s).get().ok());
        return guarded("orders");
    })) << "as soon as it is taken out of line";
    EXPECT_TRUE(store.leave(lapsed).get().ok()) << "though nobody knows of it any more";
    let_all_pass();
    EXPECT_FALSE(is_ghost_seen(1s));
    EXPECT_TRUE(store.leave(renewed).get().ok());
}

TEST_F(EtcdLateRequests, ACallIsAskedOfAnotherMemberAlsoWhileAnotherThreadWaitsForLonger) {
    const Hold first = rival().mutex("orders", {.lease = 60s}).acquire();
    const auto user = client_of_both("&connect_timeout=500ms");
    Acquiring waiter(user, "orders", {.lease = 60s});
    ASSERT_TRUE(await_waiters("orders", 1));
    EXPECT_FALSE(waiter.is_over(200ms)) << "it reads for all, and sleeps";
    keep_back(EtcdVerb::enter, 1);
    const auto start = Clock::now();
    EXPECT_TRUE(user.mutex("other", {.lease = 60s}).try_lock());
    EXPECT_LT(Clock::now() - start, 5s);
    ASSERT_TRUE(are_kept_back());
}

TEST_F(EtcdReplies, ManyWhoComeIntoOneLineEachHaveTheWholeTimeOfARequest) {
    constexpr int many = 30;
    const auto opened = open_store(url_behind("&request_timeout=1s"));
    Store& store = *opened.store;
    const Wire::Interest serves = store.wire().interest();
    proxy_.delay_replies(50ms);
    std::atomic<int> came_in = 0;
    std::atomic<int> failed = 0;
    for (int i = 1; i <= many; ++i) {
        const Contender one{.resource = opened.prefix + "orders",
                            .nonce = {.bytes = {std::byte(i)}},
                            .owner = "it",
                            .lease = 60s};
        store.enter({&one, 1}).then(
            [&](const auto& entered) { ++(entered.ok() ? came_in : failed); });
    }
    EXPECT_TRUE(await([&] { return came_in + failed == many; }));
    EXPECT_EQ(failed, 0);
}

TEST_F(EtcdLateRequests, ARenewalThatComesLateDoesNotShortenALengthenedLease) {
    const auto user = client_of_both("&connect_timeout=500ms");
    auto hold = user.mutex("orders", {.lease = 15s}).acquire();
    const std::string ordinary = lease_of("orders");
    ASSERT_TRUE(hold.lengthen(60s));
    EXPECT_NE(lease_of("orders"), ordinary);
    // What binds it to the shorter one again.
    keep_back(EtcdVerb::enter, 1);
    ASSERT_TRUE(await([&] { return are_kept_back() && lease_of("orders") == ordinary; }));
    ASSERT_TRUE(hold.lengthen(60s));
    const std::string longer = lease_of("orders");
    ASSERT_NE(longer, ordinary);
    let_all_pass();
    // Before the next renewal, which shortens it by right.
    EXPECT_FALSE(await([&] { return lease_of("orders") != longer; }, 1s));
    EXPECT_TRUE(hold.held());
}

TEST_F(EtcdReplies, AShorterRenewalWithoutAnAnswerIsTrustedForNoLongerThanTheServerKeepsIt) {
    const auto user = client();
    auto hold = user.mutex("orders", {.lease = 6s}).acquire();
    ASSERT_TRUE(hold.lengthen(60s));
    proxy_.on_request([this](auto request) {
        // Binds it to the shorter lease again: the last that reaches the server.
        if (etcd_verb(request) == EtcdVerb::enter) proxy_.black_hole();
        return Verdict::pass;
    });
    const Hold next = rival().mutex("orders", {.lease = 6s}).acquire();
    EXPECT_FALSE(hold.held()) << hold.remaining().count();
    EXPECT_GT(next.fence(), hold.fence());
}

TEST_F(EtcdReplies, ADisagreementWithOneThatHasComeToTheFrontIsTheLaterOnesAlsoWhenItIsForgotten) {
    auto permit = rival().semaphore("orders", 3, long_lived()).acquire();
    const Ambush ambush(proxy_, asking(EtcdVerb::leave), {Verdict::hold});
    Acquiring second(client("&connect_timeout=10s&request_timeout=20s"), "orders", long_lived());
    ASSERT_TRUE(ambush.await_seen(1));
    EXPECT_EQ(permit.release(), Released::in_time);
    // Nobody knows any more what it came to.
    compact();
    const auto other = rival();
    auto slots = other.semaphore("orders", 3, long_lived());
    EXPECT_EQ(error_of([&] { return slots.acquire(); }).code(), errc::conflict);
    EXPECT_EQ(error_of([&] { return slots.try_acquire(); }).code(), errc::conflict);
    proxy_.pass();
    const Hold held = second.get();
    EXPECT_TRUE(held.held()) << "only the later one of two is refused";
    EXPECT_EQ(holders("orders"), 1U);
}

TEST_F(EtcdReplies, APredecessorThatGoesBeforeItIsWatchedIsNoticed) {
    auto first = rival().mutex("orders", long_lived()).acquire();
    const auto user = client();
    const Ambush ambush(proxy_, asking(EtcdVerb::watch), {Verdict::hold});
    Acquiring second(user, "orders", {.lease = 30s});
    ASSERT_TRUE(ambush.await_seen(1));
    first.release();
    proxy_.let_pass();
    EXPECT_TRUE(second.is_over(5s)) << "before it looks with its renewal";
    EXPECT_TRUE(second.get().held());
}

TEST_F(EtcdReplies, OneThatFindsItselfAdmittedTellsThoseBehindIt) {
    const auto taking = [](Client client, std::uint32_t permits) {
        return Acquiring([client, permits](const std::stop_token& stop) {
            return client.semaphore("orders", 3, {.lease = 30s}).acquire(permits, stop);
        });
    };
    const auto user = client("&connect_timeout=10s&request_timeout=20s");
    user.mutex("warm", {.lease = 30s}).acquire().release();
    auto all_three = rival().semaphore("orders", 3, long_lived()).acquire(3);
    const Ambush ambush(proxy_, asking(EtcdVerb::enter), {Verdict::drop_reply, Verdict::hold});
    auto ahead = taking(user, 2);
    // It is in line, does not know it, and asks again.
    ASSERT_TRUE(ambush.await_seen(2));
    ASSERT_TRUE(await_waiters("orders", 1));
    auto behind = taking(rival(), 1);
    ASSERT_TRUE(await_waiters("orders", 2));
    EXPECT_EQ(all_three.release(), Released::in_time);
    proxy_.pass();
    EXPECT_TRUE(ahead.get().held());
    EXPECT_TRUE(behind.is_over(5s)) << "before it looks with its renewal";
}

TEST_F(EtcdReplies, AKeyIsUsedAgain) {
    const auto user = client();
    auto mutex = user.mutex("orders", long_lived());
    std::set<std::string> seen;
    std::uint64_t last = 0;
    for (int i = 0; i < 5; ++i) {
        const Hold hold = mutex.acquire();
        EXPECT_GT(hold.fence(), last);
        last = hold.fence();
        seen.insert(keys("orders").at(0));
    }
    EXPECT_EQ(seen.size(), 1U) << "or the server remembers them all";
}

TEST_F(EtcdReplies, AFailedTryLeavesNoKeyAndWritesNothing) {
    const Hold hold = rival().mutex("orders", long_lived()).acquire();
    const auto user = warm_client(long_lived());
    auto mutex = user.mutex("orders", long_lived());
    const auto revision = [&] {
        const std::string fields = server_.ctl({"get", "nothing", "--write-out=fields"});
        const std::string word = "\"Revision\" : ";
        const auto begin = fields.find(word) + word.size();
        return fields.substr(begin, fields.find('\n', begin) - begin);
    };
    const std::string before = revision();
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(mutex.try_lock());
    EXPECT_EQ(revision(), before);
    EXPECT_EQ(keys("orders").size(), 1U);
}

}  // namespace
}  // namespace holdfast::test
