#include <limits>

#include "port/admission.hpp"
#include "port/contender.hpp"
#include "support/suite.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

TEST(Admission, TheFirstOfAnEmptyLineIsAdmitted) {
    const std::array<InLine, 1> line{{{.weight = all}}};
    EXPECT_TRUE(is_admitted(line, 0, all, Fairness::fifo));
    EXPECT_TRUE(is_admitted(line, 0, all, Fairness::barging));
}

TEST(Admission, AWeightBeyondTheCapacityIsNeverAdmitted) {
    const std::array<InLine, 1> line{{{.weight = 4}}};
    EXPECT_FALSE(is_admitted(line, 0, 3, Fairness::fifo));
}

TEST(Admission, WhoeverIsAdmittedStaysSo) {
    const std::array<InLine, 2> line{
        {{.weight = all, .admitted = true}, {.weight = all, .admitted = true}}};
    EXPECT_TRUE(is_admitted(line, 1, all, Fairness::fifo));
}

TEST(Admission, SharedOnesFitBesideEachOtherAndNotBesideAnExclusiveOne) {
    const std::array<InLine, 3> readers{
        {{.weight = 1, .admitted = true}, {.weight = 1, .admitted = true}, {.weight = 1}}};
    EXPECT_TRUE(is_admitted(readers, 2, all, Fairness::fifo));
    const std::array<InLine, 2> writer{{{.weight = all, .admitted = true}, {.weight = 1}}};
    EXPECT_FALSE(is_admitted(writer, 1, all, Fairness::fifo));
}

TEST(Admission, WithFifoAReaderBehindAWaitingWriterWaits) {
    const std::array<InLine, 3> line{
        {{.weight = 1, .admitted = true}, {.weight = all}, {.weight = 1}}};
    EXPECT_FALSE(is_admitted(line, 2, all, Fairness::fifo));
    EXPECT_TRUE(is_admitted(line, 2, all, Fairness::barging));
}

TEST(Admission, ABargerAdmittedBehindAWaiterCountsAgainstThatWaiter) {
    const std::array<InLine, 2> line{{{.weight = all}, {.weight = all, .admitted = true}}};
    EXPECT_FALSE(is_admitted(line, 0, all, Fairness::fifo));
    EXPECT_FALSE(is_admitted(line, 0, all, Fairness::barging));
}

TEST(Admission, PermitsAreCountedByTheirWeights) {
    const std::array<InLine, 3> line{
        {{.weight = 2, .admitted = true}, {.weight = 1}, {.weight = 2}}};
    EXPECT_TRUE(is_admitted(line, 1, 3, Fairness::fifo));
    EXPECT_FALSE(is_admitted(line, 2, 3, Fairness::fifo));
    EXPECT_TRUE(is_admitted(line, 2, 5, Fairness::fifo));
}

TEST(Admission, WeightsNearTheEndOfTheNumbersDoNotWrap) {
    const std::array<InLine, 3> line{
        {{.weight = huge, .admitted = true}, {.weight = huge, .admitted = true}, {.weight = 3}}};
    EXPECT_FALSE(is_admitted(line, 2, 3, Fairness::fifo));
    EXPECT_FALSE(is_admitted(line, 2, huge, Fairness::barging));
    const std::array<InLine, 2> own{{{.weight = 1, .admitted = true}, {.weight = huge}}};
    EXPECT_FALSE(is_admitted(own, 1, all, Fairness::fifo));
}

TEST(Admission, ItStopsReadingAtTheFirstExcess) {
    // Everything behind the excess is beyond the array that the span claims to see; a sanitizer
    // would tell if it were read.
    const std::array<InLine, 2> line{{{.weight = all, .admitted = true}, {.weight = all}}};
    const std::span<const InLine> claimed(line.data(), 1'000'000);
    EXPECT_FALSE(is_admitted(claimed, 1, all, Fairness::fifo));
}

}  // namespace
}  // namespace holdfast
