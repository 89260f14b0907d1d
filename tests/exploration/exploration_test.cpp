#include "exploration/exploration.hpp"

#include <chrono>
#include <iostream>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "support/sanitized.hpp"
#include "support/soak.hpp"

namespace holdfast::exploration {
namespace {

using namespace std::chrono_literals;

struct Play {
    const char* name;
    Bounds bounds;
    Bounds soaking;
};

void PrintTo(const Play& play, std::ostream* out) {
    *out << play.name;
}

/// The last node's clock is ahead of the others', so that fences differ; the first client proposes
/// nothing better than the true time, the second one what is ahead of all clocks.
Bounds apart(Bounds bounds) {
    bounds.clocks = {0us, 0us, 400'000us};
    bounds.proposals_ahead = {0us, 450'000us};
    return bounds;
}

class EveryOrder : public testing::TestWithParam<Play> {};

TEST_P(EveryOrder, KeepsTwoApartAndFencesRising) {
    const Play& play = GetParam();
    Bounds bounds = test::rounds(0, 1) == 0 ? play.bounds : play.soaking;
    if (test::sanitized) bounds.ticks = 0;
    const Finding finding = Exploration(bounds).run();
    EXPECT_EQ(finding.violation, "");
    EXPECT_GT(finding.admissions, 0U);
    std::cout << play.name << ": " << finding.states << " states, " << finding.steps
              << " steps between them, " << finding.admissions
              << " of these admissions; the longest way has " << finding.longest << '\n';
}

INSTANTIATE_TEST_SUITE_P(
    Exploration, EveryOrder,
    testing::Values(
        Play{"OnClocksThatAgree", {.ticks = 2, .lease = 2}, {.ticks = 3, .lease = 2}},
        Play{"OnClocksApart", apart({.ticks = 1, .lease = 1}), apart({.ticks = 2, .lease = 2})},
        Play{"WithRenewals",
             {.ticks = 1, .lease = 1, .renewals = 1},
             {.ticks = 2, .lease = 2, .renewals = 1}},
        // It enters again where the rival was, who comes back.
        Play{"WithARivalWhoComesAgain",
             {.attempts = {1, 2}, .ticks = 0, .lease = 1, .renewals = 1},
             {.attempts = {1, 2}, .ticks = 1, .lease = 1, .renewals = 1}},
        Play{"WithRenewalsAndARestart",
             {.ticks = 0, .lease = 1, .renewals = 1, .restarts = 1},
             {.ticks = 1, .lease = 1, .renewals = 1, .restarts = 1}},
        Play{"WithALetterDoubled",
             {.ticks = 1, .lease = 1, .doubles = 1},
             {.ticks = 2, .lease = 2, .doubles = 1}},
        Play{"WithARestart",
             {.ticks = 1, .lease = 1, .restarts = 1},
             {.ticks = 2, .lease = 2, .restarts = 1}},
        Play{"WithARestartOnClocksApart", apart({.ticks = 1, .lease = 1, .restarts = 1}),
             apart({.ticks = 1, .lease = 1, .restarts = 1})},
        Play{"WithAClockFarAhead",
             {.ticks = 0, .lease = 1, .clocks = {0us, 0us, 5'000'000us}},
             {.ticks = 1, .lease = 1, .clocks = {0us, 0us, 5'000'000us}}},
        Play{"WithASecondAttempt",
             {.attempts = {2, 1}, .ticks = 0, .lease = 1},
             {.attempts = {2, 1}, .ticks = 1, .lease = 1}}),
    [](const auto& play) { return std::string(play.param.name); });

struct Broken {
    const char* name;
    const char* found_as;
    Bounds bounds;
    Fault fault = Fault::none;
    Lapse lapse = Lapse::none;
};

void PrintTo(const Broken& broken, std::ostream* out) {
    *out << broken.name;
}

class ABrokenQuorum : public testing::TestWithParam<Broken> {};

TEST_P(ABrokenQuorum, IsFoundOut) {
    const Broken& broken = GetParam();
    const Finding finding = Exploration(broken.bounds, broken.fault, broken.lapse).run();
    EXPECT_NE(finding.violation.find(broken.found_as), std::string::npos) << finding.violation;
    std::cout << finding.violation << '\n';
}

INSTANTIATE_TEST_SUITE_P(
    Exploration, ABrokenQuorum,
    testing::Values(
        Broken{"ByWritingNothingBack", "comes after", apart({.ticks = 1}),
               Fault::writes_nothing_back},
        Broken{"ByRenewalsOfAMinority",
               "two hold",
               {.ticks = 2, .renewals = 1},
               Fault::keeps_by_minority},
        Broken{"ByAdmissionsOfAMinority",
               "two hold",
               {.ticks = 0, .proposals_ahead = {0us, 9us}},
               Fault::enters_by_minority},
        Broken{"ByCountingFromTheAnswer", "two hold", {.ticks = 2}, Fault::counts_from_the_answer},
        Broken{"ByLeavingOnlyWhereItIsKnownToBe",
               "has left",
               {.ticks = 1},
               Fault::leaves_where_it_knows},
        Broken{"ByANodeThatCountsAtOnce",
               "two hold",
               {.ticks = 0, .restarts = 1, .proposals_ahead = {0us, 9us}},
               Fault::none,
               Lapse::counts_at_once},
        Broken{"ByLeavingNoTombstone",
               "has left",
               {.ticks = 1},
               Fault::none,
               Lapse::leaves_no_tombstone},
        Broken{"ByANodeThatTakesAnyFence",
               "comes after",
               {.ticks = 2, .restarts = 1, .proposals_ahead = {5'000'000us, 0us}},
               Fault::none,
               Lapse::takes_any_fence},
        Broken{"ByRenewingWhatIsGone",
               "has left",
               {.ticks = 0, .renewals = 1},
               Fault::none,
               Lapse::renews_what_is_gone},
        Broken{"ByForgettingTheFenceOfWhoeverLeft",
               "comes after",
               {.ticks = 0},
               Fault::none,
               Lapse::forgets_fence_of_gone}),
    [](const auto& broken) { return std::string(broken.param.name); });

}  // namespace
}  // namespace holdfast::exploration
