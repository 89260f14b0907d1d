#include <algorithm>

#include "faults/redlock_faults.hpp"

/// What all clients of a set have to agree on: which servers there are, and for how long leases go
/// on at the most.
namespace holdfast::test {
namespace {

/// Nodes that know of all their clients from the first one.
class FoundRedlock : public RedlockTrap {
protected:
    explicit FoundRedlock(const RedisOptions& options = {}) : RedlockTrap(options) {}

    /// And stays until all of its nodes know of it, also those that it needed not wait for.
    void found(const std::string& url) {
        const Client first = connect(url);
        first.mutex("orders").acquire().release();
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_TRUE(await([&] {
                const auto marker = node(i).command({"GET", "holdfast/=run"});
                return std::ranges::count(marker, ' ') > 1;
            }));
        }
    }
};

// --- max_lease ---

class RedlockAgreement : public FoundRedlock {
protected:
    explicit RedlockAgreement(const RedisOptions& options = {}) : FoundRedlock(options) {}

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

/// And a client with a longer one, which is refused, was there first after it was emptied.
TEST_F(RedlockAgreement, ANodeThatWasEmptiedAndNamesALongerMaxLeaseStopsNobody) {
    found(nodes_.url());
    node(2).flush();
    const Client longer = rival("?max_lease=1h");
    const auto said = sentence_of([&] { static_cast<void>(longer.mutex("orders").try_acquire()); },
                                  errc::bad_configuration);
    EXPECT_NE(said.find("max_lease=60000ms"), std::string::npos) << said;
    EXPECT_TRUE(await([&] {
        return node(2).command({"GET", "holdfast/=run"}).find("3600000") != std::string::npos;
    }));
    const Client client = rival();
    for (int i = 0; i < 3; ++i) client.mutex("orders").acquire().release();
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

// --- which nodes ---

/// One job has the new list, another one the old: each would have a majority of its own.
class RedlockSet : public FoundRedlock {
protected:
    static std::string url_of(const std::vector<RedisServer*>& nodes) {
        std::string hosts;
        for (const auto* one : nodes) {
            hosts += (hosts.empty() ? "" : ",") + std::string("127.0.0.1:") +
                     std::to_string(one->port());
        }
        return "redlock://" + hosts;
    }
    static void expect_refused(const std::string& url) {
        const auto said = sentence_of(
            [&] { static_cast<void>(connect(url).mutex("orders").try_acquire_for(4s)); },
            errc::bad_configuration);
        EXPECT_NE(said.find("name other nodes"), std::string::npos) << said;
        EXPECT_NE(said.find("holdfast/=run"), std::string::npos) << said;
    }

    RedisNodes others_{3};
};

TEST_F(RedlockSet, AClientWithAnotherListIsRefused) {
    const auto ours = url_of({&node(0), &node(1), &node(2)});
    found(ours);
    expect_refused(url_of({&node(0), &node(1), &others_.node(0)}));
    const std::string nodes = url_of({&node(0), &node(1), &node(2), &others_.node(0)});
    expect_refused(nodes + ",127.0.0.1:" + std::to_string(others_.node(1).port()));
    connect(url_of({&node(1), &node(2), &node(0)})).mutex("orders").acquire().release();
}

/// It answers before they do who would let the client in.
TEST_F(RedlockSet, AClientWithAListThatSharesOneNodeIsRefusedByThat) {
    found(url_of({&node(0), &node(1), &node(2)}));
    FaultProxy one(others_.node(0).port());
    FaultProxy other(others_.node(1).port());
    for (FaultProxy* slow : {&one, &other}) slow->delay_replies(100ms);
    expect_refused(url_of({&node(2)}) + ",127.0.0.1:" + std::to_string(one.port()) +
                   ",127.0.0.1:" + std::to_string(other.port()));
}

/// A wrong client was there first after it was emptied: the others know better.
TEST_F(RedlockSet, ANodeThatWasEmptiedAndIsInAnotherListStopsNobody) {
    const auto ours = url_of({&node(0), &node(1), &node(2)});
    found(ours);
    node(2).flush();
    const Client wrong =
        connect(url_of({&node(2), &node(0), &node(1), &others_.node(0), &others_.node(1)}));
    sentence_of([&] { static_cast<void>(wrong.mutex("orders").try_acquire()); },
                errc::bad_configuration);
    EXPECT_TRUE(await([&] { return node(2).command({"EXISTS", "holdfast/=run"}) == "1"; }));
    const Client client = connect(ours);
    for (int i = 0; i < 3; ++i) client.mutex("orders").acquire().release();
}

/// Whoever holds by the first list may do so at it, and at one that this client does not ask.
TEST_F(RedlockSet, ANodeThatIsStartedAgainStillKnowsThatItsListWasThereFirst) {
    found(url_of({&node(0), &node(1), &node(2)}));
    node(1).flush();
    nodes_.mark(1);
    FaultProxy one(node(1).port());
    FaultProxy other(others_.node(0).port());
    for (FaultProxy* slow : {&one, &other}) slow->delay_replies(100ms);
    const auto wrong = url_of({&node(0)}) + ",127.0.0.1:" + std::to_string(one.port()) +
                       ",127.0.0.1:" + std::to_string(other.port());
    expect_refused(wrong);
    node(0).restart();
    expect_refused(wrong);
}

/// And those who know better know it also when they have been started again since.
TEST_F(RedlockSet, ANodeThatWasEmptiedAndIsInAnotherListStopsNobodyWhenOthersAreStartedAgain) {
    const auto ours = url_of({&node(0), &node(1), &node(2)}) + "?max_lease=1s";
    found(ours);
    node(2).flush();
    const Client wrong =
        connect(url_of({&node(2), &node(0), &node(1), &others_.node(0), &others_.node(1)}) +
                "?max_lease=1s");
    sentence_of([&] { static_cast<void>(wrong.mutex("orders").try_acquire()); },
                errc::bad_configuration);
    EXPECT_TRUE(await([&] { return node(2).command({"EXISTS", "holdfast/=run"}) == "1"; }));
    node(0).restart();
    auto mutex = connect(ours).mutex("orders");
    EXPECT_TRUE(await([&] {
        try {
            return mutex.try_lock() && (mutex.unlock(), true);
        } catch (const Error&) {
            return false;
        }
    }));
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
