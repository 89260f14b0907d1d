#include "verify/checkers.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temporary_folder.hpp"

/// Histories that are known to be bad are found bad, and good ones good.
namespace holdfast::verify {
namespace {

constexpr std::uint64_t all = 1'000'000'000;
constexpr Instant lease = 30;

/// Trusted from one moment to another; asked for a moment before.
Visit visit(std::string who, std::uint64_t fence, Instant from, Instant to,
            std::uint64_t weight = all, std::uint64_t capacity = all) {
    return {.who = std::move(who),
            .resource = "orders",
            .weight = weight,
            .capacity = capacity,
            .lease = lease,
            .fence = fence,
            .asked = from - 1,
            .admitted = from,
            .trusted = to,
            .ended = to + 1};
}

TEST(Overlaps, OneAfterTheOtherIsRight) {
    const std::vector<Visit> visits{visit("a", 1, 10, 20), visit("b", 2, 20, 30)};
    EXPECT_TRUE(overlaps(visits).empty());
}

TEST(Overlaps, TwoThatHoldAMutexAtOnceAreFound) {
    const std::vector<Visit> visits{visit("a", 1, 10, 25), visit("b", 2, 20, 30)};
    const auto found = overlaps(visits);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].at, 20);
    EXPECT_TRUE(found[0].fenced);
    EXPECT_EQ(found[0].who, (std::vector<std::string>{"b", "a"}));
    EXPECT_EQ(found[0].what,
              "orders: b (fence 2) was in beside a (fence 1), who trusted its hold for 0.000 ms "
              "more");
}

TEST(Overlaps, OneThatWasMetByAHolderWithASmallerFenceIsNotToldApart) {
    const std::vector<Visit> visits{visit("a", 2, 10, 25), visit("b", 1, 20, 30)};
    EXPECT_FALSE(overlaps(visits).at(0).fenced);
}

TEST(Overlaps, TwoThatAskedAtOneTimeAreToldApartByEitherOrder) {
    std::vector<Visit> visits{visit("a", 2, 10, 25), visit("b", 1, 20, 30)};
    visits[1].asked = 9;
    EXPECT_TRUE(overlaps(visits).at(0).fenced);
    visits[1].fence = 2;
    EXPECT_FALSE(overlaps(visits).at(0).fenced);
}

TEST(Overlaps, OneBehindALongHoldIsFoundAlsoBehindShortOnes) {
    const std::vector<Visit> visits{visit("a", 1, 10, 90), visit("b", 2, 20, 21),
                                    visit("c", 3, 80, 81)};
    EXPECT_EQ(overlaps(visits).size(), 2U);
}

TEST(Overlaps, WhoeverIsOvertakenIsToLearnOfItWithinItsLease) {
    std::vector<Visit> visits{visit("a", 1, 10, 20 + lease), visit("b", 2, 20, 30)};
    EXPECT_TRUE(overlaps(visits).at(0).told_in_time);
    visits[0].trusted += 1;
    EXPECT_FALSE(overlaps(visits).at(0).told_in_time);
}

TEST(Overlaps, WhoeverHeardLateOfItsHoldMayBeTheOneThatWasOvertaken) {
    // Admitted, forgotten, and told only after the next one was.
    std::vector<Visit> visits{visit("a", 0, 10, 90 + lease), visit("b", 0, 20, 30)};
    EXPECT_FALSE(overlaps(visits).at(0).told_in_time);
    visits[1].sent = 9;
    EXPECT_TRUE(overlaps(visits).at(0).told_in_time);
    visits[1].trusted = 21 + lease;
    EXPECT_FALSE(overlaps(visits).at(0).told_in_time) << "neither has learned of it";
    visits[1].trusted = 30;
    visits[1].fence = 1;
    EXPECT_FALSE(overlaps(visits).at(0).told_in_time) << "the fences say who was first";
}

TEST(Overlaps, WhoeverHoldsBesideTheOneThatCameInIsNotOvertaken) {
    // A writer is overtaken by readers, of which one stays for long.
    std::vector<Visit> visits{visit("writer", 1, 10, 25), visit("reader", 2, 15, 90, 1),
                              visit("another", 3, 20, 30, 1)};
    for (const Violation& one : overlaps(visits)) EXPECT_TRUE(one.told_in_time) << one.what;
    visits[0].trusted = 90;
    for (const Violation& one : overlaps(visits)) EXPECT_FALSE(one.told_in_time) << one.what;
}

TEST(Overlaps, ReadersMayMeetAndAWriterMayNot) {
    std::vector<Visit> visits{visit("a", 1, 10, 25, 1), visit("b", 2, 20, 30, 1)};
    EXPECT_TRUE(overlaps(visits).empty());
    visits.push_back(visit("c", 3, 29, 40));
    EXPECT_EQ(overlaps(visits).size(), 1U);
}

TEST(Overlaps, AsManyAsThereArePermitsAndNotOneMore) {
    std::vector<Visit> visits{visit("a", 1, 10, 50, 1, 3), visit("b", 2, 20, 50, 2, 3)};
    EXPECT_TRUE(overlaps(visits).empty());
    visits.push_back(visit("c", 3, 30, 40, 1, 3));
    EXPECT_EQ(overlaps(visits).size(), 1U);
}

TEST(Overlaps, ResourcesDoNotMeet) {
    std::vector<Visit> visits{visit("a", 1, 10, 25), visit("b", 2, 20, 30)};
    visits[1].resource = "invoices";
    EXPECT_TRUE(overlaps(visits).empty());
}

TEST(Fences, OneThatFellIsFound) {
    const std::vector<Visit> visits{visit("a", 7, 10, 20), visit("b", 9, 30, 40),
                                    visit("c", 8, 50, 60)};
    ASSERT_EQ(fences_that_fell(visits).size(), 1U);
    EXPECT_EQ(fences_that_fell(visits)[0].at, 50);
}

TEST(Fences, OneThatWasAskedForBeforeTheOtherWasGivenHasNoOrder) {
    std::vector<Visit> visits{visit("a", 7, 10, 20, 1), visit("b", 6, 12, 20, 1)};
    visits[1].asked = 9;
    EXPECT_TRUE(fences_that_fell(visits).empty());
}

TEST(Fences, OneThatIsGivenTwiceIsFound) {
    std::vector<Visit> visits{visit("a", 7, 10, 20, 1), visit("b", 7, 12, 20, 1)};
    EXPECT_EQ(fences_given_twice(visits).size(), 1U);
    visits[1].resource = "invoices";
    EXPECT_TRUE(fences_given_twice(visits).empty());
}

TEST(Waits, OneThatHeardNothingIsFoundUnlessItWasKilled) {
    Visit waiting = visit("17/3", 0, 10, 0);
    waiting.ended = 0;
    const std::vector<Visit> visits{waiting};
    EXPECT_EQ(waits_without_end(visits, {}).size(), 1U);
    const std::vector<std::string> killed{"17"};
    EXPECT_TRUE(waits_without_end(visits, killed).empty());
}

TEST(Waits, OneForWhatNobodyHeldAllThatTimeIsFound) {
    std::vector<Visit> visits{visit("a", 1, 10, 20), visit("b", 2, 45, 50)};
    visits[1].asked = 12;
    EXPECT_TRUE(idle_while_waited_for(visits, 25).empty());
    EXPECT_EQ(idle_while_waited_for(visits, 24).size(), 1U);
}

TEST(Waits, OneThatSomebodyCameBeforeIsNotIdle) {
    std::vector<Visit> visits{visit("a", 1, 10, 20), visit("b", 2, 30, 35), visit("c", 3, 45, 50)};
    visits[2].asked = 12;
    EXPECT_TRUE(idle_while_waited_for(visits, 10).empty());
}

TEST(Excuses, AreForFencedHoldsInTheirTimeAlone) {
    const std::vector<Violation> found{
        {20, "fenced", true}, {20, "not", false}, {40, "late", true}};
    const std::vector<Excuse> excuses{{10, 30, {.row = "the clock was set forward"}}};
    const auto left = unexcused(found, excuses);
    ASSERT_EQ(left.size(), 2U);
    EXPECT_EQ(left[0].what, "not");
    EXPECT_EQ(left[1].what, "late");
}

TEST(Excuses, AreForNobodyWhoBelievesLongerThanALeaseUnlessTheySaySo) {
    const std::vector<Visit> visits{visit("a", 1, 10, 20 + lease + 1), visit("b", 2, 20, 30)};
    const auto found = overlaps(visits);
    ASSERT_EQ(found.size(), 1U);
    std::vector<Excuse> excuses{{10, 30, {.row = "the clock was set forward"}}};
    EXPECT_EQ(unexcused(found, excuses).size(), 1U);
    excuses[0].why.told_in_time = false;
    EXPECT_TRUE(unexcused(found, excuses).empty());
}

TEST(Excuses, AreForHoldsThatNothingTellsApartWhereThePageSaysSo) {
    const std::vector<Visit> visits{visit("a", 0, 10, 25), visit("b", 0, 20, 30)};
    std::vector<Excuse> excuses{{10, 30, {.row = "the server is started again"}}};
    EXPECT_EQ(unexcused(overlaps(visits), excuses).size(), 1U);
    excuses[0].why.told_apart = false;
    EXPECT_TRUE(unexcused(overlaps(visits), excuses).empty());
}

TEST(Failures, OnesThatNoFaultCausesAreFound) {
    const std::vector<Failure> failures{{1, 4, "unreachable"}, {2, 10, "corrupt"}};
    const std::vector<int> expected{4};
    ASSERT_EQ(unexpected_failures(failures, expected).size(), 1U);
    EXPECT_EQ(unexpected_failures(failures, expected)[0].what, "corrupt");
}

TEST(Journals, AreReadAsTheyWereWritten) {
    const test::TemporaryFolder folder;
    Visit written = visit("17/1", 7, 10, 20);
    written.patience = -1;
    written.ending = Ending::overdue;
    {
        Journal journal(folder.path() / "17");
        journal.asked(written);
        journal.admitted(written);
        journal.trusted(written);
        journal.ended(written);
        journal.complain("two\nlines");
        journal.failed(4, "it is down");
    }
    std::ofstream(folder.path() / "18") << "asked 5 18/1 orders 1 1\nadmitted 6 18/";
    const History history = read_history(folder.path());
    ASSERT_EQ(history.visits.size(), 2U);
    EXPECT_FALSE(history.visits[0].was_admitted()) << "its process was killed while it wrote";
    const Visit& read = history.visits[1];
    EXPECT_EQ(read.fence, 7U);
    EXPECT_EQ(read.capacity, all);
    EXPECT_EQ(read.trusted, 20);
    EXPECT_EQ(read.ended, 21);
    EXPECT_EQ(read.lease, lease);
    EXPECT_EQ(read.patience, -1);
    EXPECT_TRUE(read.was_lost());
    ASSERT_EQ(history.complaints.size(), 1U);
    EXPECT_EQ(history.complaints[0].what, "two lines");
    ASSERT_EQ(history.failures.size(), 1U);
    EXPECT_EQ(history.failures[0].code, 4);
    EXPECT_EQ(history.failures[0].sentence, "it is down");
}

}  // namespace
}  // namespace holdfast::verify
