#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <ostream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "simulation/quorum_schedule.hpp"
#include "support/soak.hpp"

namespace holdfast::simulation {
namespace {

using exploration::Fault;
using exploration::Lapse;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int schedules = 500;
#else
constexpr int schedules = 3'000;
#endif

std::string advice(std::uint64_t seed) {
    return "run it alone, with its trace: HOLDFAST_SIMULATION_SEED=" + std::to_string(seed) +
           " simulation_tests --gtest_filter=QuorumSimulation.NoScheduleLetsTwoHoldOrAFenceFall";
}

void add(QuorumVerdict& total, const QuorumVerdict& one) {
    total.events += one.events;
    total.admitted += one.admitted;
    total.written_back += one.written_back;
    total.held += one.held;
    total.contested += one.contested;
    total.too_few += one.too_few;
    total.late += one.late;
    total.lost += one.lost;
    total.crashes += one.crashes;
    total.restarts += one.restarts;
    total.jumps += one.jumps;
    total.overlaps += one.overlaps;
}

void print(const QuorumVerdict& total) {
    std::cout << total.events << " events; admitted " << total.admitted << ", written back "
              << total.written_back << ", held " << total.held << ", contested " << total.contested
              << ", too few " << total.too_few << ", late " << total.late << ", lost " << total.lost
              << "; crashes " << total.crashes << ", restarts " << total.restarts << ", jumps "
              << total.jumps << ", states with an overlap after a jump " << total.overlaps << '\n';
}

TEST(QuorumSimulation, NoScheduleLetsTwoHoldOrAFenceFall) {
    if (const char* const seed = std::getenv("HOLDFAST_SIMULATION_SEED")) {
        const auto verdict =
            QuorumSchedule(std::strtoull(seed, nullptr, 10), Fault::none, Lapse::none, &std::cout)
                .run();
        EXPECT_EQ(verdict.violation, "") << "seed " << seed;
        return;
    }
    const auto count = static_cast<std::uint64_t>(test::rounds(schedules, 50 * schedules));
    QuorumVerdict total;
    for (std::uint64_t seed = 1; seed <= count && !HasFailure(); ++seed) {
        const auto verdict = QuorumSchedule(seed, Fault::none, Lapse::none, nullptr).run();
        add(total, verdict);
        EXPECT_EQ(verdict.violation, "") << "seed " << seed << "; " << advice(seed);
    }
    print(total);
    // A simulation in which nothing happens proves nothing.
    for (const auto happened :
         {total.admitted, total.written_back, total.held, total.contested, total.too_few,
          total.late, total.lost, total.crashes, total.restarts, total.jumps}) {
        EXPECT_GT(happened, count / 100);
    }
}

TEST(QuorumSimulation, ASeedTellsTheSameStoryEachTime) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::ostringstream first;
        std::ostringstream second;
        QuorumSchedule(seed, Fault::none, Lapse::none, &first).run();
        QuorumSchedule(seed, Fault::none, Lapse::none, &second).run();
        EXPECT_FALSE(first.str().empty());
        EXPECT_EQ(first.str(), second.str()) << "seed " << seed;
    }
}

struct Broken {
    Fault fault;
    Lapse lapse;
    const char* name;
    const char* found_as;
};

void PrintTo(const Broken& broken, std::ostream* out) {
    *out << broken.name;
}

class AQuorumBrokenOnPurpose : public testing::TestWithParam<Broken> {};

TEST_P(AQuorumBrokenOnPurpose, IsFoundOut) {
    std::string others;
    for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
        const auto verdict =
            QuorumSchedule(seed, GetParam().fault, GetParam().lapse, nullptr).run();
        if (verdict.violation.find(GetParam().found_as) != std::string::npos) return;
        if (!verdict.violation.empty()) others += verdict.violation + "\n";
    }
    FAIL() << "no schedule saw it; others saw:\n" << others;
}

INSTANTIATE_TEST_SUITE_P(
    QuorumSimulation, AQuorumBrokenOnPurpose,
    testing::Values(
        Broken{Fault::writes_nothing_back, Lapse::none, "ByWritingNothingBack", "comes after"},
        Broken{Fault::keeps_by_minority, Lapse::none, "ByRenewalsOfAMinority", "beyond"},
        Broken{Fault::enters_by_minority, Lapse::none, "ByAdmissionsOfAMinority", "beyond"},
        Broken{Fault::counts_from_the_answer, Lapse::none, "ByCountingFromTheAnswer", "beyond"},
        Broken{Fault::none, Lapse::counts_at_once, "ByNodesThatCountAtOnce", "beyond"},
        Broken{Fault::none, Lapse::forgets_fence_of_gone, "ByNodesThatForgetFences",
               "comes after"}),
    [](const auto& broken) { return std::string(broken.param.name); });

}  // namespace
}  // namespace holdfast::simulation
