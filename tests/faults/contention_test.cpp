#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <random>
#include <ranges>
#include <thread>

#include "faults/processes.hpp"

/// Many processes at once: nothing is counted twice, nothing gets stuck.
namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class Contention : public Processes {
protected:
    /// Runs `count` processes at once, each for `rounds`, and answers how long that took.
    std::chrono::milliseconds run_together(const std::string& how, int count, int rounds) {
        std::vector<Child> running;
        for (int i = 0; i < count; ++i) running.push_back(busy(how, rounds));
        EXPECT_TRUE(await([&] { return arena_->ready == count; }));
        const auto started = Clock::now();
        arena_->go = true;
        for (Child& child : running) {
            const auto status = child.ended(120s);
            EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
        }
        return std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - started);
    }

    void expect_nothing_left() const {
        EXPECT_TRUE(await([&] { return client_.inspect().empty(); }));
    }

    SharedArena arena_{arena_file()};
};

TEST_F(Contention, EightProcessesCountTo40000) {
    constexpr int rounds = sanitized ? 1000 : 5000;
    const auto took = run_together("count", 8, rounds);
    EXPECT_EQ(arena_->counter, 8U * rounds);
    std::cout << 8 * rounds << " increments by 8 processes in " << took.count() << " ms\n";
    expect_nothing_left();
}

TEST_F(Contention, SixtyFourThreadsCountTogether) {
    constexpr int rounds = sanitized ? 50 : 500;
    std::uint64_t counter = 0;
    auto mutex = client_.mutex("counter");
    const auto started = Clock::now();
    {
        std::vector<std::jthread> running;
        for (int i = 0; i < 64; ++i) {
            running.emplace_back([&] {
                for (int round = 0; round < rounds; ++round) {
                    const Hold hold = mutex.acquire();
                    ++counter;
                }
            });
        }
    }
    EXPECT_EQ(counter, 64U * rounds);
    std::cout << 64 * rounds << " increments by 64 threads in "
              << std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - started).count()
              << " ms\n";
    expect_nothing_left();
}

TEST_F(Contention, WritersAmongReadersOfEightProcessesMeetNobody) {
    constexpr int rounds = sanitized ? 400 : 2000;
    run_together("read_write", 8, rounds);
    EXPECT_EQ(arena_->counter, 8U * rounds / 4);
    EXPECT_EQ(arena_->meetings, 0);
    EXPECT_GE(arena_->peak, 1);
    expect_nothing_left();
}

TEST_F(Contention, ThreePermitsAmongEightProcessesHaveAPeakOfThree) {
    run_together("permits", 8, sanitized ? 400 : 2000);
    EXPECT_EQ(arena_->meetings, 0);
    EXPECT_EQ(arena_->peak, 3);
    expect_nothing_left();
}

TEST_F(Contention, AThousandKillsLeaveNothingStuckAndFencesRising) {
    constexpr int kills = sanitized ? 200 : 1000;
    constexpr std::size_t processes = 4;
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<Child> running;
    for (std::size_t i = 0; i < processes; ++i)
        running.push_back(busy("churn", static_cast<int>(i)));
    arena_->go = true;
    for (int i = 0; i < kills; ++i) {
        // One that is at work, at a moment of chance: a newcomer is given time to get there.
        const std::size_t victim = random() % processes;
        const auto done = arena_->corners[victim].done.load();
        ASSERT_TRUE(await([&] { return arena_->corners[victim].done > done; }))
            << "stuck after " << i << " kills";
        std::this_thread::sleep_for(std::chrono::microseconds{random() % 2000});
        running[victim].kill();
        running[victim] = busy("churn", static_cast<int>(victim));
    }
    // The last ones still come through, and end by themselves.
    for (auto& corner : arena_->corners | std::views::take(processes)) {
        const auto done = corner.done.load();
        EXPECT_TRUE(await([&] { return corner.done > done; }));
    }
    arena_->stop = true;
    for (Child& child : running) EXPECT_EQ(child.ended(), 0);
    std::uint64_t holds = 0;
    for (auto& corner : arena_->corners) {
        holds += corner.done;
        EXPECT_EQ(corner.errors, 0U) << corner.last_error.data();
    }
    EXPECT_EQ(arena_->old_fences, 0U);
    EXPECT_EQ(arena_->meetings, 0);
    EXPECT_TRUE(client_.inspect().empty());
    std::cout << kills << " kills among " << holds << " holds\n";
}

TEST_F(Contention, TwoHundredStopsLetTheOthersGoOnOrNameTheStoppedOne) {
    constexpr int stops = sanitized ? 50 : 200;
    constexpr std::size_t processes = 4;
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<Child> running;
    for (std::size_t i = 0; i < processes; ++i) {
        running.push_back(busy("tour", static_cast<int>(i), "?request_timeout=200ms"));
    }
    arena_->go = true;
    const auto all_go_on = [&] {
        std::vector<std::uint64_t> before;
        for (std::size_t i = 0; i < processes; ++i) before.push_back(arena_->corners[i].done);
        return await([&] {
            for (std::size_t i = 0; i < processes; ++i) {
                if (arena_->corners[i].done <= before[i]) return false;
            }
            return true;
        });
    };
    int failed = 0;
    for (int i = 0; i < stops; ++i) {
        ASSERT_TRUE(all_go_on()) << "stuck after " << i << " stops";
        std::this_thread::sleep_for(std::chrono::microseconds{random() % 2000});
        const std::size_t victim = random() % processes;
        running[victim].stop();
        const std::string pid = std::to_string(running[victim].pid());
        for (std::size_t other = 0; other < processes; ++other) {
            if (other == victim) continue;
            auto& corner = arena_->corners[other];
            const auto done = corner.done.load();
            const auto errors = corner.errors.load();
            ASSERT_TRUE(await([&] { return corner.done > done || corner.errors > errors; }))
                << "neither goes on nor fails while process " << pid << " is stopped";
            if (corner.errors == errors) continue;
            ++failed;
            const std::string error(corner.last_error.data());
            EXPECT_NE(error.find(pid), std::string::npos) << error << " (stopped: " << pid << ")";
        }
        running[victim].go_on();
    }
    ASSERT_TRUE(all_go_on());
    arena_->stop = true;
    for (Child& child : running) EXPECT_EQ(child.ended(), 0);
    EXPECT_TRUE(await([&] { return client_.inspect().empty(); }));
    std::cout << stops << " stops, " << failed << " failures that named the stopped process\n";
}

}  // namespace

}  // namespace holdfast::test
