#include <iostream>

#include "contract/processes.hpp"
#include "support/arena.hpp"
#include "support/rounds.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

/// Many at once: nothing is counted twice, nothing gets stuck.
namespace holdfast::test {
namespace {

class Contention : public Processes {
protected:
    void report(const std::string& what, Clock::time_point started) const {
        std::cout << what << " in "
                  << std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - started).count()
                  << " ms\n";
    }

    void expect_exact_count(int contenders, int rounds) const {
        EXPECT_EQ(arena_->counter, static_cast<std::uint64_t>(contenders) * rounds);
        expect_nothing_left();
    }
    /// Every fourth round was a writer's.
    void expect_readers_and_writers_apart(int contenders, int rounds) const {
        EXPECT_EQ(arena_->counter, static_cast<std::uint64_t>(contenders) * (rounds / 4));
        EXPECT_EQ(arena_->meetings, 0);
        EXPECT_GE(arena_->peak, 1);
        expect_nothing_left();
    }
    void expect_three_and_no_more() const {
        EXPECT_EQ(arena_->meetings, 0);
        EXPECT_EQ(arena_->peak, 3);
        expect_nothing_left();
    }

private:
    void expect_nothing_left() const {
        EXPECT_TRUE(await([&] { return client_.inspect().empty(); }));
    }

    TemporaryFolder folder_;

protected:
    const std::string arena_file_ = folder_.path() / "arena";
    SharedArena arena_{arena_file_};
};

class ProcessesTogether : public Contention {
protected:
    static constexpr int processes = 8;
    const int rounds = sanitized ? GetParam().rounds / 10 : GetParam().rounds;

    void run_together(const std::string& how) {
        std::vector<Child> running;
        for (int i = 0; i < processes; ++i) {
            running.push_back(contenders_.busy(how, arena_file_, rounds));
        }
        ASSERT_TRUE(await([&] { return arena_->ready == processes; }));
        const auto started = Clock::now();
        arena_->go = true;
        for (Child& child : running) EXPECT_TRUE(ended_well(child, 100s));
        report(std::to_string(processes) + " processes of " + std::to_string(rounds) + " rounds",
               started);
    }
};
HOLDFAST_FOR_EVERY_STORE_BETWEEN_PROCESSES(ProcessesTogether);

TEST_P(ProcessesTogether, CountExactly) {
    run_together("count");
    expect_exact_count(processes, rounds);
}

TEST_P(ProcessesTogether, WriteWhileNobodyReads) {
    run_together("read_write");
    expect_readers_and_writers_apart(processes, rounds);
}

TEST_P(ProcessesTogether, ShareThreePermits) {
    run_together("permits");
    expect_three_and_no_more();
}

class ThreadsTogether : public Contention {
protected:
    static constexpr int threads = 64;
    const int rounds = sanitized ? 48 : std::min(GetParam().rounds, test::rounds(200, 5000));

    void run_together(void (*how)(const Client&, Arena&, int)) {
        const auto started = Clock::now();
        together(threads, [&](int) { how(client_, *arena_, rounds); });
        report(std::to_string(threads) + " threads of " + std::to_string(rounds) + " rounds",
               started);
    }
};
HOLDFAST_FOR_EVERY_STORE(ThreadsTogether);

TEST_P(ThreadsTogether, CountExactly) {
    run_together(count);
    expect_exact_count(threads, rounds);
}

TEST_P(ThreadsTogether, WriteWhileNobodyReads) {
    run_together(read_write);
    expect_readers_and_writers_apart(threads, rounds);
}

TEST_P(ThreadsTogether, ShareThreePermits) {
    run_together(permits);
    expect_three_and_no_more();
}

}  // namespace
}  // namespace holdfast::test
