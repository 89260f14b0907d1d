#include "faults/redlock_faults.hpp"

/// Those who wait, when the nodes are away, and when others who waited are dead.
namespace holdfast::test {
namespace {

class RedlockWaiting : public RedlockTrap {};

TEST_F(RedlockWaiting, OneWithoutALimitIsToldThatAMajorityIsAway) {
    const Client ours = client("?request_timeout=200ms");
    const Hold hold = rival().mutex("orders", long_lived()).acquire();
    Acquiring waiting(ours, "orders", {.lease = 1500ms});
    EXPECT_FALSE(waiting.is_over(200ms));
    for (const std::size_t i : {0, 1}) node(i).pause();
    EXPECT_TRUE(waiting.is_over(5s)) << "it waits for ever";
    for (const std::size_t i : {0, 1}) node(i).resume();
    sentence_of([&] { static_cast<void>(waiting.get()); }, errc::unreachable);
}

/// They are the oldest on all nodes, and a release calls a few.
TEST_F(RedlockWaiting, DeadOnesSwallowNoRelease) {
    const Client ours = client();
    Hold hold = rival().mutex("orders", long_lived()).acquire();
    Acquiring waiting(ours, "orders", long_lived());
    const auto register_dead = [&](std::size_t i) {
        return node(i).command({"EVAL", R"(
            local key = redis.call('KEYS', '*orders=called')[1]
            if not key then return 'nobody waits' end
            local soon = redis.call('TIME')[1] * 1000 + 20000
            for i = 1, 20 do redis.call('ZADD', key, soon + i, string.format('dead%d %032x', i, i)) end
            return 'registered')",
                                "0"});
    };
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_TRUE(await([&] { return register_dead(i) == "registered"; }));
    }
    EXPECT_FALSE(waiting.is_over(100ms)) << "it listens by now";
    hold.release();
    const auto released = Clock::now();
    EXPECT_TRUE(waiting.get().held());
    EXPECT_LT(Clock::now() - released, 1s);
}

}  // namespace
}  // namespace holdfast::test
