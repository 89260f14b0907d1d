#include "contract/stores.hpp"

namespace holdfast::test {
namespace {

class Several : public Contract {};
HOLDFAST_FOR_EVERY_STORE(Several);

TEST_P(Several, AllAreHeldOrNone) {
    auto both = client_.multi_lock({"b", "a"});
    const auto busy = client_.mutex("b").acquire();
    const auto attempt = both.try_acquire();
    EXPECT_FALSE(attempt);
    EXPECT_EQ(holders("a"), 0U);
    const auto timed = both.try_acquire_for(50ms);
    EXPECT_FALSE(timed);
    EXPECT_EQ(holders("a"), 0U);
    EXPECT_EQ(waiters("b"), 0U);
}

TEST_P(Several, NamesAreSortedAndCountOnce) {
    auto lock = client_.multi_lock({"c", "a", "b", "a"});
    EXPECT_EQ(lock.names(), (std::vector<std::string>{"a", "b", "c"}));
    auto hold = lock.acquire();
    EXPECT_EQ(hold.fences().size(), 3U);
    EXPECT_EQ(hold.fence(), hold.fences()[0]);
    EXPECT_EQ(hold.name(), "a");
    EXPECT_EQ(holders("a") + holders("b") + holders("c"), 3U);
    EXPECT_EQ(lock.release(std::move(hold)), Released::in_time);
    EXPECT_TRUE(client_.inspect().empty());
}

TEST_P(Several, FencesRiseForEachResource) {
    auto both = client_.multi_lock({"a", "b"});
    const auto first = both.acquire().fences();
    const auto alone = client_.mutex("b").acquire().fence();
    const auto second = both.acquire().fences();
    EXPECT_GT(second[0], first[0]);
    EXPECT_GT(alone, first[1]);
    EXPECT_GT(second[1], alone);
}

TEST_P(Several, WhoWaitsForAPlainUserKeepsNothingThatThisUserNeeds) {
    // A plain user holds a; the other wants a and b; the plain user takes b as well.
    auto plain_a = client_.mutex("a").acquire();
    Thread several([&] {
        auto both = client_.multi_lock({"a", "b"});
        const Hold hold = both.acquire();
        EXPECT_TRUE(hold.held());
    });
    ASSERT_TRUE(await_waiters("a", 1));
    auto plain_b = client_.mutex("b").try_acquire_for(patience);
    ASSERT_TRUE(plain_b) << "the one that waits for a has no place in b's line";
    plain_b->release();
    plain_a.release();
}

TEST_P(Several, OverlappingSetsInAnyOrderAllComeThrough) {
    constexpr int rounds = 30;
    const std::vector<std::vector<std::string>> sets{{"a", "b"},      {"b", "c"}, {"c", "a"},
                                                     {"c", "b", "a"}, {"a"},      {"b"}};
    std::array<int, 3> counters{};
    std::array<int, 3> expected{};
    {
        std::vector<Thread> running;
        for (const auto& set : sets) {
            for (const auto& name : set)
                expected[static_cast<std::size_t>(name[0] - 'a')] += rounds;
            running.emplace_back([&, set] {
                const auto client = another_client();
                auto lock = client.multi_lock(set);
                for (int round = 0; round < rounds; ++round) {
                    const Hold hold = lock.acquire();
                    for (const auto& name : set)
                        ++counters[static_cast<std::size_t>(name[0] - 'a')];
                }
            });
        }
    }
    EXPECT_EQ(counters, expected);
    EXPECT_TRUE(client_.inspect().empty());
}

TEST_P(Several, ACancelledWaitGivesBackWhatItHad) {
    const Hold last = client_.mutex("z").acquire();
    std::stop_source stop;
    Thread waiter([&] {
        EXPECT_EQ(error_of([&] {
                      return client_.multi_lock({"a", "m", "z"}).acquire(stop.get_token());
                  }),
                  errc::cancelled);
    });
    ASSERT_TRUE(await_waiters("z", 1));
    EXPECT_EQ(holders("a"), 1U);
    stop.request_stop();
    waiter.join();
    EXPECT_EQ(holders("a") + holders("m"), 0U);
    EXPECT_EQ(waiters("z"), 0U);
}

TEST_P(Several, NoNameIsAnError) {
    EXPECT_EQ(error_of([&] { return client_.multi_lock({}); }), errc::invalid_argument);
    EXPECT_EQ(error_of([&] { return client_.multi_lock({"a", ""}); }), errc::invalid_argument);
}

}  // namespace
}  // namespace holdfast::test
