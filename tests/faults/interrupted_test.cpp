#include <csignal>
#include <iostream>
#include <random>
#include <ranges>

#include "faults/processes.hpp"
#include "support/soak.hpp"

/// Processes killed and stopped at any moment, also inside of the store.
namespace holdfast::test {
namespace {

class Interrupted : public LocalProcesses {
protected:
    SharedArena arena_{arena_file()};
};

TEST_F(Interrupted, KillsLeaveNothingStuckAndFencesRising) {
    const int kills = rounds(200, 1000);
    constexpr std::size_t processes = 4;
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<Child> running;
    for (std::size_t i = 0; i < processes; ++i) running.push_back(busy("churn", i));
    arena_->go = true;
    for (int i = 0; i < kills; ++i) {
        // One that is at work, at a moment of chance: a newcomer is given time to get there.
        const std::size_t victim = random() % processes;
        const auto done = arena_->corners[victim].done.load();
        ASSERT_TRUE(await([&] { return arena_->corners[victim].done > done; }))
            << "stuck after " << i << " kills";
        std::this_thread::sleep_for(std::chrono::microseconds{random() % 2000});
        running[victim].kill();
        running[victim] = busy("churn", victim);
    }
    // The last ones still come through, and end by themselves.
    for (auto& corner : arena_->corners | std::views::take(processes)) {
        const auto done = corner.done.load();
        EXPECT_TRUE(await([&] { return corner.done > done; }));
    }
    arena_->stop = true;
    for (Child& child : running) EXPECT_TRUE(ended_well(child));
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

TEST_F(Interrupted, StopsLetTheOthersGoOnOrNameTheStoppedOne) {
    const int stops = rounds(30, 200);
    constexpr std::size_t processes = 4;
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<Child> running;
    for (std::size_t i = 0; i < processes; ++i) {
        running.push_back(busy("tour", i, "?request_timeout=1s"));
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
            // One that has just come in has not signed yet.
            const bool is_told = error.find("process " + pid + " ") != std::string::npos ||
                                 error.find("find it with fuser") != std::string::npos;
            EXPECT_TRUE(is_told) << error << " (stopped: " << pid << ")";
        }
        running[victim].go_on();
    }
    ASSERT_TRUE(all_go_on());
    arena_->stop = true;
    for (Child& child : running) EXPECT_TRUE(ended_well(child));
    EXPECT_TRUE(await([&] { return client_.inspect().empty(); }));
    std::cout << stops << " stops, " << failed << " failures that named the stopped process\n";
}

}  // namespace
}  // namespace holdfast::test
