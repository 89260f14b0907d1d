#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "simulation/schedule.hpp"

namespace holdfast::simulation {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t schedules = 1'500;
#else
constexpr std::uint64_t schedules = 20'000;
#endif

std::optional<std::uint64_t> number_from(const char* variable) {
    const char* value = std::getenv(variable);
    if (value == nullptr) return std::nullopt;
    return std::strtoull(value, nullptr, 10);
}

std::string advice(std::uint64_t seed) {
    return "run it alone, with its trace: HOLDFAST_SIMULATION_SEED=" + std::to_string(seed) +
           " simulation_tests --gtest_filter=Simulation.EveryPromiseIsKeptOnEverySchedule";
}

void add(Verdict& total, const Verdict& one) {
    total.events += one.events;
    total.admitted += one.admitted;
    total.busy += one.busy;
    total.stopped += one.stopped;
    total.failed += one.failed;
    total.lost += one.lost;
    total.crashes += one.crashes;
    total.pauses += one.pauses;
    total.cuts += one.cuts;
    total.flushes += one.flushes;
}

void print(const Verdict& total) {
    std::cout << total.events << " events; admitted " << total.admitted << ", busy " << total.busy
              << ", stopped " << total.stopped << ", failed " << total.failed << ", lost "
              << total.lost << "; crashes " << total.crashes << ", pauses " << total.pauses
              << ", cuts " << total.cuts << ", flushes " << total.flushes << '\n';
}

TEST(Simulation, EveryPromiseIsKeptOnEverySchedule) {
    if (const auto seed = number_from("HOLDFAST_SIMULATION_SEED")) {
        const Verdict verdict = Schedule(*seed, Fault::none, &std::cout).run();
        EXPECT_EQ(verdict.violation, "") << "seed " << *seed;
        return;
    }
    const std::uint64_t count = number_from("HOLDFAST_SIMULATION_SCHEDULES").value_or(schedules);
    Verdict total;
    int violations = 0;
    for (std::uint64_t seed = 1; seed <= count && violations < 5; ++seed) {
        const Verdict verdict = Schedule(seed, Fault::none, nullptr).run();
        add(total, verdict);
        if (verdict.violation.empty()) continue;
        ++violations;
        ADD_FAILURE() << "seed " << seed << ": " << verdict.violation << "\n" << advice(seed);
    }
    print(total);
    if (count < 1000) return;
    // A simulation in which nothing happens proves nothing.
    for (const auto happened : {total.admitted, total.busy, total.stopped, total.failed, total.lost,
                                total.crashes, total.pauses, total.cuts, total.flushes}) {
        EXPECT_GT(happened, count / 50);
    }
}

TEST(Simulation, ASeedTellsTheSameStoryEachTime) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::ostringstream first;
        std::ostringstream second;
        Schedule(seed, Fault::none, &first).run();
        Schedule(seed, Fault::none, &second).run();
        EXPECT_FALSE(first.str().empty());
        EXPECT_EQ(first.str(), second.str()) << "seed " << seed;
    }
}

struct Broken {
    Fault fault;
    const char* name;
    const char* found_as;
};

class BrokenOnPurpose : public testing::TestWithParam<Broken> {};

TEST_P(BrokenOnPurpose, IsFoundOut) {
    std::string others;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        const Verdict verdict = Schedule(seed, GetParam().fault, nullptr).run();
        if (verdict.violation.find(GetParam().found_as) != std::string::npos) return;
        if (!verdict.violation.empty()) others += verdict.violation + "\n";
    }
    FAIL() << "no schedule saw it; others saw:\n" << others;
}

INSTANTIATE_TEST_SUITE_P(
    Simulation, BrokenOnPurpose,
    testing::Values(
        Broken{Fault::ignores_capacity, "AStoreThatIgnoresCapacity", "beyond its capacity"},
        Broken{Fault::repeats_a_fence, "AStoreThatRepeatsAFence", "was given after"},
        Broken{Fault::keeps_ghosts, "AStoreThatNeverEndsALease", "are left"},
        Broken{Fault::renews_what_is_gone, "AStoreThatRenewsWhatIsGone", "forgot it long ago"},
        Broken{Fault::counts_from_the_answer, "ALeaseCountedFromTheAnswer", "beyond its capacity"},
        Broken{Fault::tells_nobody, "AnAlarmThatSleeps", "a loss was not told"},
        Broken{Fault::loses_sight_of_waiters, "AStoreThatForgetsWaiters", "never ends"}),
    [](const auto& broken) { return std::string(broken.param.name); });

}  // namespace
}  // namespace holdfast::simulation
