#include <unistd.h>
#include <fstream>

#include "core/gate.hpp"
#include "support/suite.hpp"

namespace holdfast::core {
namespace {

/// Whether that thread is blocked: it has gone as far as it can.
bool sleeps(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string line;
    std::getline(file, line);
    const auto name_end = line.rfind(')');
    return name_end != std::string::npos && line.substr(name_end + 2, 1) == "S";
}

TEST(AGate, LetsOneThroughAtATime) {
    Gate gate;
    EXPECT_TRUE(gate.enter(std::nullopt));
    EXPECT_FALSE(gate.enter(0ns));
    gate.leave();
    EXPECT_TRUE(gate.enter(0ns));
}

TEST(AGate, KnowsWhoseTurnItIs) {
    Gate gate;
    EXPECT_FALSE(gate.mine());
    gate.enter(std::nullopt);
    EXPECT_TRUE(gate.mine());
    std::jthread([&] { EXPECT_FALSE(gate.mine()); }).join();
    gate.leave();
    EXPECT_FALSE(gate.mine());
}

TEST(AGate, TakesNoThreadForAnEarlierOneWhoseIdItHas) {
    Gate gate;
    std::thread::id owner;
    std::jthread([&] {
        gate.enter(std::nullopt);
        owner = std::this_thread::get_id();
    }).join();
    bool is_given_again = false;
    for (int i = 0; i < 1000 && !is_given_again; ++i) {
        std::jthread([&] {
            is_given_again = std::this_thread::get_id() == owner;
            EXPECT_FALSE(gate.mine());
        }).join();
    }
    if (!is_given_again) GTEST_SKIP() << "no thread has had the same id";
}

TEST(AGate, MayBeLeftByAnyThread) {
    Gate gate;
    gate.enter(std::nullopt);
    std::jthread([&] { gate.leave(); }).join();
    EXPECT_TRUE(gate.enter(0ns));
}

TEST(AGate, EndsAWaitWhenPatienceIsOverAndTheNextOneStillGetsIn) {
    Gate gate;
    gate.enter(std::nullopt);
    std::jthread impatient([&] { EXPECT_FALSE(gate.enter(5ms)); });
    impatient.join();
    std::atomic<bool> in{false};
    std::jthread patient([&] {
        in = gate.enter(test::patience);
        gate.leave();
    });
    gate.leave();
    EXPECT_TRUE(test::await([&] { return in.load(); }));
}

TEST(AGate, LetsThreadsThroughInTheOrderOfTheirComing) {
    Gate gate;
    gate.enter(std::nullopt);
    std::vector<int> order;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 5; ++i) {
        std::atomic<pid_t> at_the_gate{0};
        threads.emplace_back([&, i] {
            at_the_gate = gettid();
            gate.enter(std::nullopt);
            order.push_back(i);
            gate.leave();
        });
        ASSERT_TRUE(test::await([&] { return at_the_gate != 0 && sleeps(at_the_gate); }));
    }
    gate.leave();
    threads.clear();
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
}

TEST(AGate, IsExactUnderManyThreads) {
    Gate gate;
    int counter = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] {
            for (int round = 0; round < 500; ++round) {
                const bool patient = (i + round) % 2 == 0;
                while (!gate.enter(patient ? std::optional(10s) : std::optional(50us))) {
                }
                ++counter;
                gate.leave();
            }
        });
    }
    threads.clear();
    EXPECT_EQ(counter, 8 * 500);
}

}  // namespace
}  // namespace holdfast::core
