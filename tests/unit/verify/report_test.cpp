#include "verify/report.hpp"

#include <gtest/gtest.h>

#include <holdfast/error.hpp>

#include "verify/picture.hpp"

/// Trials that are known to be bad are found bad, each by the promise that it breaks.
namespace holdfast::verify {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t all = 1'000'000'000;
constexpr Instant millisecond = 1'000'000;
constexpr Instant second = 1000 * millisecond;

/// Asked for a millisecond before it was had; released when it was last trusted.
Visit visit(std::string who, std::uint64_t fence, Instant from, Instant to) {
    return {.who = std::move(who),
            .resource = "mine/orders/0",
            .weight = all,
            .capacity = all,
            .lease = second,
            .patience = -1,
            .fence = fence,
            .asked = from - millisecond,
            .admitted = from,
            .trusted = to,
            .ended = to,
            .ending = Ending::released};
}

Trial trial_of(std::vector<Visit> visits) {
    return {.store = "redis://db",
            .seed = 7,
            .begin = second,
            .end = 100 * second,
            .manner = {.prefix = "mine/", .mutexes = 2, .longest_lease = 1s},
            .clients = {"1", "2"},
            .interferences = {},
            .history = {.visits = std::move(visits), .complaints = {}, .failures = {}},
            .seen = {}};
}

std::vector<std::string> broken_in(const Trial& trial) {
    std::vector<std::string> promises;
    for (const Broken& one : report_on(trial, {}).broken) {
        promises.emplace_back(name_of(one.promise));
    }
    return promises;
}

using Promises = std::vector<std::string>;

TEST(AReport, OfOneAfterTheOtherIsGood) {
    const Trial trial = trial_of(
        {visit("1/0/1", 1, 2 * second, 3 * second), visit("2/0/1", 2, 4 * second, 5 * second)});
    EXPECT_EQ(broken_in(trial), Promises{});
    EXPECT_TRUE(report_on(trial, {}).exempt.empty());
}

TEST(AReport, NamesThePromiseThatWasBroken) {
    Trial two_at_once = trial_of(
        {visit("1/0/1", 1, 2 * second, 4 * second), visit("2/0/1", 2, 3 * second, 5 * second)});
    EXPECT_EQ(broken_in(two_at_once), Promises{"exclusion"});
    EXPECT_EQ(report_on(two_at_once, {}).broken[0].violation.what.find("mine/"), std::string::npos);
    Trial fell = trial_of(
        {visit("1/0/1", 2, 2 * second, 3 * second), visit("2/0/1", 1, 4 * second, 5 * second)});
    EXPECT_EQ(broken_in(fell), Promises{"fences"});
    fell.manner.abilities.fences = false;
    EXPECT_EQ(broken_in(fell), Promises{});
    Trial late = trial_of({visit("1/0/1", 1, 50 * second, 51 * second)});
    late.history.visits[0].asked = 2 * second;
    EXPECT_EQ(broken_in(late), Promises{"freed"});
    Trial untold = trial_of({});
    untold.history.complaints.push_back({2 * second, "a loss that was not announced"});
    EXPECT_EQ(broken_in(untold), Promises{"told"});
    Trial corrupt = trial_of({});
    corrupt.history.failures.push_back({2 * second, static_cast<int>(errc::corrupt), "what is it"});
    EXPECT_EQ(broken_in(corrupt), Promises{"works"});
    Trial left = trial_of({});
    left.seen.push_back({Promise::emptied, {.at = second, .what = "mine/pool: somebody"}});
    EXPECT_EQ(broken_in(left), Promises{"emptied"});
}

TEST(AReport, ExcusesTheWaitsOfThoseAloneWhoWereKilled) {
    Visit waiting = visit("1/0/1", 0, 2 * second, 0);
    waiting.admitted = waiting.ended = 0;
    waiting.ending = Ending::unknown;
    Trial trial = trial_of({waiting});
    EXPECT_EQ(broken_in(trial), Promises{"ends"});
    trial.interferences = {{.client = "1", .begin = 3 * second, .killed = true}};
    EXPECT_EQ(broken_in(trial), Promises{});
    EXPECT_EQ(report_on(trial, {}).exempt.size(), 1U);
    trial.interferences = {{.client = "1", .begin = 3 * second, .end = 4 * second}};
    EXPECT_EQ(broken_in(trial), Promises{"ends"});
}

TEST(AReport, TellsWhichHoldsWereLostByClientsThatStoodStill) {
    Visit paused = visit("1/0/1", 1, 2 * second, 3 * second);
    paused.ending = Ending::overdue;
    paused.ended = 5 * second;
    Visit other = visit("2/0/1", 2, 6 * second, 7 * second);
    other.ending = Ending::ended;
    Trial trial = trial_of({paused, other});
    trial.interferences = {{.client = "1", .begin = 3 * second, .end = 5 * second}};
    const Report report = report_on(trial, {});
    EXPECT_TRUE(report.holds());
    EXPECT_EQ(report.figures.lost, 2U);
    EXPECT_EQ(report.figures.lost_standing_still, 1U);
    EXPECT_EQ(report.exempt.size(), 2U);
}

TEST(Figures, CountWaitsAndHandOffs) {
    Visit next = visit("2/0/1", 2, 3 * second + 4 * millisecond, 5 * second);
    next.asked = 2 * second;
    Visit busy = visit("2/1/1", 0, 4 * second, 0);
    busy.admitted = 0;
    busy.ending = Ending::busy;
    const Figures figures =
        figures_of(trial_of({visit("1/0/1", 1, 2 * second, 3 * second), next, busy}));
    EXPECT_EQ(figures.asked, 3U);
    EXPECT_EQ(figures.holds, 2U);
    EXPECT_EQ(figures.busy, 1U);
    EXPECT_EQ(figures.wait.count, 2U);
    EXPECT_EQ(figures.wait.p99, second + 4 * millisecond);
    EXPECT_EQ(figures.hand_off.count, 1U);
    EXPECT_EQ(figures.hand_off.p50, 4 * millisecond);
}

TEST(APicture, HasNothingInItThatEndsItsScript) {
    Trial trial = trial_of({visit("1/0/1", 1, 2 * second, 3 * second)});
    trial.store = "local:///</script><script>alert(1)</script>";
    trial.history.complaints.push_back({2 * second, "<!--\xff"});
    const std::string page = picture_of(report_on(trial, {{"</ScRiPt>", "-->"}}));
    EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
    EXPECT_EQ(page.find("</ScRiPt>"), std::string::npos);
    EXPECT_NE(page.find("\\u003c/script>\\u003cscript>alert(1)"), std::string::npos);
    EXPECT_EQ(page.find("/* data */"), std::string::npos);
}

TEST(APicture, NamesNoOtherPlace) {
    const std::string page = picture_of(report_on(trial_of({}), {}));
    for (const char* const part : {"http:", "https:", "src=", "@import", "url("}) {
        EXPECT_EQ(page.find(part), std::string::npos) << part;
    }
}

TEST(APicture, OfTooManyVisitsHasTheLastAndThoseOfInterest) {
    std::vector<Visit> visits;
    for (std::size_t i = 0; i < most_shown + 10; ++i) {
        const auto from = 2 * second + static_cast<Instant>(i) * millisecond;
        visits.push_back(visit("1/0/" + std::to_string(i), i + 1, from, from + 1));
    }
    visits[3].ending = Ending::overdue;
    const std::string page = picture_of(report_on(trial_of(std::move(visits)), {}));
    EXPECT_NE(page.find("\"left_out\":9"), std::string::npos);
    EXPECT_NE(page.find("[0,3,0,"), std::string::npos);
    EXPECT_EQ(page.find("[0,4,0,"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::verify
