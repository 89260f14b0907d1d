#include "faults/redlock_faults.hpp"

/// Those who wait, when others who waited are dead.
namespace holdfast::test {
namespace {

class RedlockWaiting : public RedlockTrap {};

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
