#include "faults/redlock_faults.hpp"

/// What all clients of a set have to agree on: which servers there are, and for how long leases go
/// on at the most.
namespace holdfast::test {
namespace {

// --- max_lease ---

class RedlockAgreement : public RedlockTrap {
protected:
    explicit RedlockAgreement(const RedisOptions& options = {}) : RedlockTrap(options) {}

    /// It would be in while a lease of the others goes on that a majority has forgotten.
    void expect_refused(const std::string& max_lease, std::chrono::milliseconds lease) {
        const Client shorter = rival("?max_lease=" + max_lease);
        const auto said = sentence_of(
            [&] {
                static_cast<void>(shorter.mutex("orders", {.lease = lease}).try_acquire_for(4s));
            },
            errc::bad_configuration);
        EXPECT_NE(said.find("max_lease=60000ms"), std::string::npos) << said;
        EXPECT_NE(said.find("holdfast/=run"), std::string::npos) << said;
    }
};

/// With a shorter one a node that has forgotten would count while a lease of the others goes on.
TEST_F(RedlockAgreement, AClientWithAnotherMaxLeaseIsRefused) {
    rival().mutex("orders").acquire().release();
    expect_refused("10s", 1s);
    rival("?max_lease=1m").mutex("orders").acquire().release();
}

TEST_F(RedlockAgreement, AMajorityThatIsEmptyLetsNobodyInWhoseMaxLeaseIsShorterThanTheOthersKnow) {
    const Hold hold = rival().mutex("orders", long_lived()).acquire();
    for (const std::size_t i : {0, 1}) {
        node(i).kill();
        node(i).restart_empty();
    }
    expect_refused("1s", 500ms);
}

class RedlockKeepingAgreement : public RedlockAgreement {
protected:
    RedlockKeepingAgreement() : RedlockAgreement({.settings = {"appendonly yes"}}) {}
};

TEST_F(RedlockKeepingAgreement, ANodeThatIsStartedAgainWithItsDataKeepsTheMaxLeaseOfItsClients) {
    rival().mutex("orders").acquire().release();
    for (const std::size_t i : {0, 1}) node(i).restart();
    node(2).kill();
    expect_refused("1s", 500ms);
}

// --- who votes ---

TEST_F(RedlockTrap, OneServerUnderTwoNamesHasOneVote) {
    const FaultProxy other_name(node(0).port());
    const auto url = RedisNodes::url_at({network(0).port(), other_name.port(), network(1).port()},
                                        "?request_timeout=500ms");
    node(1).kill();
    const auto said = sentence_of([&] { connect(url); }, errc::bad_configuration);
    EXPECT_NE(said.find("the same server"), std::string::npos) << said;
}

/// While one name is not connected the other one may be, and then the first comes back.
TEST_F(RedlockTrap, OneServerUnderTwoNamesHasOneVoteAlsoWhenTheyAreReachedByTurns) {
    FaultProxy other_name(node(0).port());
    other_name.refuse();
    const Client client = connect(RedisNodes::url_at(
        {network(0).port(), other_name.port(), network(1).port()}, "?request_timeout=500ms"));
    auto mutex = client.mutex("orders");
    mutex.acquire().release();
    network(0).refuse();
    network(0).cut();
    other_name.pass();
    const auto twice =
        sentence_of([&] { static_cast<void>(mutex.try_acquire()); }, errc::unreachable);
    EXPECT_NE(twice.find("the same server"), std::string::npos) << twice;
    network(0).pass();
    EXPECT_TRUE(await([&] {
        try {
            return mutex.try_lock() && (mutex.unlock(), true);
        } catch (const Error&) {
            return false;
        }
    }));
    node(1).kill();
    const auto said =
        sentence_of([&] { static_cast<void>(mutex.try_acquire()); }, errc::unreachable);
    EXPECT_NE(said.find("1 of 3 nodes answered"), std::string::npos) << said;
}

}  // namespace
}  // namespace holdfast::test
