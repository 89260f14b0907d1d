#include "faults/redlock_faults.hpp"

/// Nodes that are away, stand still, or come back without what they had.
namespace holdfast::test {
namespace {

class RedlockOutage : public testing::Test {
protected:
    static constexpr auto limit = "?request_timeout=500ms";
    RedisServer& node(std::size_t index) { return nodes_.node(index); }
    bool has_holder(std::size_t index) {
        return node(index).command({"EVAL", "return redis.call('KEYS', '{holdfast/*}*=')", "0"}) !=
               "[]";
    }

    RedisNodes nodes_;
};

TEST_F(RedlockOutage, WithThreeOfFiveAwayNothingIsHadInItsTimeAndNobodyIsLeftWhenTheyAreBack) {
    const Client client = connect(nodes_.url(limit));
    client.mutex("orders").acquire().release();
    for (const std::size_t i : {0, 1, 2}) node(i).pause();
    for (int i = 0; i < 3; ++i) {
        const auto began = Clock::now();
        const auto said = sentence_of(
            [&] { static_cast<void>(client.mutex("orders", {.lease = 60s}).try_acquire()); },
            errc::unreachable);
        EXPECT_LT(Clock::now() - began, 3s);
        EXPECT_NE(said.find("2 of 5 nodes answered, and it takes 3"), std::string::npos) << said;
    }
    sentence_of([&] { connect(nodes_.url(limit)); }, errc::unreachable);
    for (const std::size_t i : {0, 1, 2}) node(i).resume();
    EXPECT_TRUE(await(
        [&] {
            for (std::size_t i = 0; i < 5; ++i) {
                if (has_holder(i)) return false;
            }
            return true;
        },
        15s))
        << "what was sent to them is carried out when they go on, and taken back";
    EXPECT_TRUE(client.mutex("orders").try_lock());
}

TEST_F(RedlockOutage, WithThreeOfFiveKilledNothingIsHadInItsTime) {
    const Client client = connect(nodes_.url(limit));
    for (const std::size_t i : {0, 1, 2}) node(i).kill();
    const auto began = Clock::now();
    sentence_of([&] { static_cast<void>(client.mutex("orders").try_acquire()); },
                errc::unreachable);
    sentence_of([&] { connect(nodes_.url(limit)); }, errc::unreachable);
    EXPECT_LT(Clock::now() - began, 5s);
    for (const std::size_t i : {3, 4}) EXPECT_TRUE(await([&] { return !has_holder(i); }, 10s));
}

TEST_F(RedlockOutage, AHoldIsLostInItsTimeWhenThreeOfFiveStandStillAndNoRivalIsInBefore) {
    const Client client = connect(nodes_.url(limit));
    const auto hold = client.mutex("orders", {.lease = 2s}).acquire();
    const auto began = Clock::now();
    for (const std::size_t i : {0, 1, 2}) node(i).pause();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_LT(Clock::now() - began, 2s);
    for (const std::size_t i : {0, 1, 2}) node(i).resume();
    const auto next = connect(nodes_.url()).mutex("orders").acquire();
    EXPECT_FALSE(hold.held());
    EXPECT_GT(next.fence(), hold.fence());
}

TEST_F(RedlockOutage, AHoldOutlivesOneNodeAfterTheOtherThatStandsStillForAWhile) {
    const Client client = connect(nodes_.url(limit));
    auto hold = client.mutex("orders", {.lease = 2s}).acquire();
    for (std::size_t i = 0; i < 5; ++i) {
        node(i).pause();
        EXPECT_FALSE(await([&] { return hold.lost().stop_requested(); }, 1s));
        node(i).resume();
    }
    EXPECT_EQ(hold.release(), Released::in_time);
}

/// It came when somebody else was still in at one of them, and goes on without another one of those
/// that let it in.
TEST_F(RedlockTrap, AHoldComesToANodeThatWasTakenWhenItCame) {
    plant_holder(2, {.lease = 1s});
    const Client client = rival("?request_timeout=500ms");
    const Hold hold = client.mutex("orders", {.lease = 1500ms}).acquire();
    EXPECT_NE(nonces_at(2), nonces_at(0));
    EXPECT_TRUE(await([&] { return nonces_at(2) == nonces_at(0); }));
    node(0).kill();
    EXPECT_FALSE(await([&] { return hold.lost().stop_requested(); }, 2s));
}

/// It is ended by hand at one node after the other, and is renewed in between.
TEST_F(RedlockTrap, AHoldThatIsEndedComesToNoNodeAgain) {
    const Hold hold = rival().mutex("orders", {.lease = 1s}).acquire();
    rival().break_hold("orders", hold.fence());
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_TRUE(is_free_everywhere());
}

/// Readers who came beside each other, each first at another node.
TEST_F(RedlockTrap, AFenceThatTwoReadersHaveEndsNoneOfThem) {
    for (const std::size_t i : {0, 1, 2}) {
        plant_holder(i, {.nonce = 'a', .weight = 1, .fence = 7});
        plant_holder(i, {.nonce = 'b', .weight = 1, .fence = 7});
    }
    const Client client = rival();
    const auto said = sentence_of([&] { client.break_hold("orders", 7); }, errc::conflict);
    EXPECT_NE(said.find("2 readers"), std::string::npos) << said;
    EXPECT_EQ(client.look_at("orders")->holders.size(), 2U);
}

// --- who is on a minority ---

TEST_F(RedlockTrap, WhoIsOnAMinorityOfTheNodesDoesNotHold) {
    plant_holder(2, {});
    const auto found = rival().look_at("orders")->holders;
    ASSERT_EQ(found.size(), 1U);
    EXPECT_NE(found[0].owner.find("on 1 of 3 nodes: it does not hold"), std::string::npos)
        << found[0].owner;
}

TEST_F(RedlockTrap, WhoIsOnANodeThatIsHeardAndPerhapsOnOneThatIsNotMayHold) {
    for (const std::size_t i : {0, 2}) plant_holder(i, {});
    const Client client = rival("?request_timeout=500ms");
    node(2).pause();
    const auto found = client.look_at("orders")->holders;
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].owner.find("does not hold"), std::string::npos) << found[0].owner;
    EXPECT_NE(found[0].owner.find("on 1 of the 2 nodes that answered"), std::string::npos)
        << found[0].owner;
}

// --- what forgets ---

/// Three nodes, a short max_lease.
class RedlockForgetting : public RedlockTrap {
protected:
    static constexpr auto max_lease = 3s;
    static constexpr auto terms = "?max_lease=3s";
    explicit RedlockForgetting(const RedisOptions& options = {}) : RedlockTrap(options) {}

    /// No rival is in while the first may trust its hold, however a majority has forgotten it.
    void expect_no_overlap_when(const std::function<void(std::size_t)>& forgets) {
        const Client first = connect(nodes_.url(terms));
        const Client second = connect(nodes_.url(terms));
        const Hold hold = first.mutex("orders", {.lease = max_lease}).acquire();
        forgets(0);
        forgets(1);
        const auto forgot = Clock::now();
        const auto said = sentence_of(
            [&] { static_cast<void>(second.mutex("orders", {.lease = 1s}).try_acquire()); },
            errc::unreachable);
        EXPECT_NE(said.find("may have forgotten who holds"), std::string::npos) << said;
        EXPECT_NE(said.find("holdfast init"), std::string::npos) << said;
        const auto next = second.mutex("orders", {.lease = 1s}).try_acquire_for(30s);
        ASSERT_TRUE(next);
        EXPECT_FALSE(hold.held());
        EXPECT_GE(Clock::now() - forgot, max_lease - 300ms);
        EXPECT_LT(Clock::now() - forgot, max_lease + 10s);
        EXPECT_GT(next->fence(), hold.fence());
    }
};

TEST_F(RedlockForgetting, AMajorityThatIsStartedAgainEmptyLetsNobodyInForMaxLease) {
    expect_no_overlap_when([&](std::size_t i) {
        node(i).kill();
        node(i).restart_empty();
    });
}

TEST_F(RedlockForgetting, AMajorityThatIsFlushedLetsNobodyInForMaxLease) {
    expect_no_overlap_when([&](std::size_t i) { node(i).flush(); });
}

TEST_F(RedlockForgetting, OneThatIsStartedAgainCostsAHoldNothing) {
    const Client client = connect(nodes_.url(terms));
    auto hold = client.mutex("orders", {.lease = 2s}).acquire();
    node(1).kill();
    node(1).restart_empty();
    EXPECT_FALSE(await([&] { return hold.lost().stop_requested(); }, 4s));
    EXPECT_FALSE(rival(terms).mutex("orders", {.lease = 1s}).try_lock());
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_TRUE(rival(terms).mutex("orders", {.lease = 1s}).try_lock());
}

TEST_F(RedlockForgetting, FencesRiseAlthoughAllHaveForgottenThem) {
    const Client client = connect(nodes_.url(terms));
    std::uint64_t last = 0;
    for (int i = 0; i < 10; ++i) last = client.mutex("orders", {.lease = 1s}).acquire().fence();
    for (std::size_t i = 0; i < 3; ++i) {
        node(i).kill();
        node(i).restart_empty();
    }
    const auto next = client.mutex("orders", {.lease = 1s}).try_acquire_for(30s);
    ASSERT_TRUE(next);
    EXPECT_GT(next->fence(), last);
}

TEST_F(RedlockForgetting, ASetThatIsNewCountsAtOnceWhenThatIsSaid) {
    for (std::size_t i = 0; i < 3; ++i) node(i).flush();
    const auto url = nodes_.url(terms);
    const Client client = connect(url);
    sentence_of([&] { static_cast<void>(client.mutex("a", {.lease = 1s}).try_acquire()); },
                errc::unreachable);
    EXPECT_EQ(open_store(url).store->initialize().get().value(), 3U);
    EXPECT_TRUE(client.mutex("a", {.lease = 1s}).try_lock());
    const auto again = open_store(url).store->initialize().get();
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.failure().code, errc::conflict) << again.failure().sentence;
    node(2).kill();
    EXPECT_FALSE(open_store(nodes_.url("?request_timeout=500ms")).store->initialize().get().ok());
}

class RedlockPersisting : public RedlockForgetting {
protected:
    RedlockPersisting() : RedlockForgetting({.settings = {"appendonly yes"}}) {}
};

/// An AOF may lack its last second, so what it has kept does not count.
TEST_F(RedlockPersisting, AMajorityThatIsStartedAgainWithItsDataLetsNobodyInForMaxLease) {
    expect_no_overlap_when([&](std::size_t i) { node(i).restart(); });
}

TEST_F(RedlockPersisting, AHoldWhoseMajorityIsStartedAgainIsLostAndThatIsTold) {
    const Client client = connect(nodes_.url(terms));
    const auto hold = client.mutex("orders", {.lease = 2s}).acquire();
    node(0).restart();
    node(2).restart();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_FALSE(hold.held());
}

}  // namespace
}  // namespace holdfast::test
