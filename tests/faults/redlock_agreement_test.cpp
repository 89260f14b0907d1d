#include "faults/redlock_faults.hpp"

/// What all clients of a set have to agree on: which servers there are, and for how long leases go
/// on at the most.
namespace holdfast::test {
namespace {

/// With a shorter one a node that has forgotten would count while a lease of the others goes on.
TEST_F(RedlockTrap, AClientWithAnotherMaxLeaseIsRefused) {
    rival().mutex("orders").acquire().release();
    const auto said =
        sentence_of([&] { static_cast<void>(rival("?max_lease=10s").mutex("invoices").acquire()); },
                    errc::bad_configuration);
    EXPECT_NE(said.find("max_lease=60000ms"), std::string::npos) << said;
    rival("?max_lease=1m").mutex("orders").acquire().release();
}

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
