#include <sstream>

#include <holdfast/holdfast.hpp>
#include <holdfast/metrics.hpp>

#include "core/pursuit.hpp"
#include "faults/failing_store.hpp"
#include "stores/memory/memory_store.hpp"
#include "support/client_of_store.hpp"
#include "support/suite.hpp"

namespace holdfast {
namespace {

/// The value behind a name with its labels; nothing when there is no such line.
std::optional<double> value_of(const std::string& text, const std::string& name) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(name + " ")) return std::stod(line.substr(name.size() + 1));
    }
    return std::nullopt;
}

class MetricsOf : public testing::Test {
protected:
    double value(const std::string& name) const {
        return value_of(metrics_->text(), name).value_or(-1);
    }

    std::shared_ptr<Metrics> metrics_ = std::make_shared<Metrics>();
    Client client_ = connect("memory:", {.observer = metrics_});
    Mutex orders_{client_, "orders"};
};

TEST_F(MetricsOf, AHoldCountItsStepsAndItsTime) {
    {
        const Hold hold = orders_.acquire();
        EXPECT_EQ(value("holdfast_holds"), 1);
        const Attempt busy = orders_.try_acquire_for(10ms);
        EXPECT_FALSE(busy);
    }
    EXPECT_EQ(value("holdfast_holds"), 0);
    EXPECT_EQ(value("holdfast_waiting"), 0);
    EXPECT_EQ(value("holdfast_waits_total{end=\"given_up\"}"), 1);
    EXPECT_EQ(value("holdfast_waits_total{end=\"admitted\"}"), 0);
    EXPECT_EQ(value("holdfast_releases_total{how=\"in_time\"}"), 1);
    EXPECT_EQ(value("holdfast_acquire_seconds_count"), 1);
    EXPECT_EQ(value("holdfast_acquire_seconds_bucket{le=\"+Inf\"}"), 1);
    EXPECT_GT(value("holdfast_acquire_seconds_sum"), 0);
}

TEST_F(MetricsOf, AWaiterCountItWhileItStandsInLine) {
    Hold hold = orders_.acquire();
    std::promise<void> admitted;
    orders_.async_acquire([&](const std::exception_ptr&, const Attempt&) { admitted.set_value(); });
    ASSERT_TRUE(await([&] { return value("holdfast_waiting") == 1; }));
    hold.release();
    admitted.get_future().get();
    EXPECT_EQ(value("holdfast_waiting"), 0);
    EXPECT_EQ(value("holdfast_waits_total{end=\"admitted\"}"), 1);
    EXPECT_TRUE(await([&] { return value("holdfast_holds") == 0; })) << "given back unwaited";
}

TEST_F(MetricsOf, ALostHoldCountTheLossAndTheRelease) {
    Mutex brief(client_, "brief", {.lease = 100ms});
    Hold hold = brief.acquire();
    ASSERT_TRUE(client_.break_hold("brief", hold.fence()));
    ASSERT_TRUE(await([&] { return value("holdfast_lost_total{why=\"ended\"}") == 1; }));
    EXPECT_EQ(value("holdfast_holds"), 1) << "its user has it still";
    hold.release();
    EXPECT_EQ(value("holdfast_holds"), 0);
    EXPECT_EQ(value("holdfast_releases_total{how=\"too_late\"}"), 1);
}

TEST(MetricsOfAStore, ThatFailsAndAnswersAgainCountBoth) {
    const auto store = std::make_shared<test::FailingStore>(memory::open_memory(std::string{}));
    const auto metrics = std::make_shared<Metrics>();
    const auto context = test::client_of({.store = store, .options = {.observer = metrics}});
    const auto is_one = [&](const char* name) { return value_of(metrics->text(), name) == 1; };
    const auto hold = core::acquire(context, {.contenders = {{.resource = "a",
                                                              .nonce = context->next_nonce(),
                                                              .owner = "somebody",
                                                              .lease = 300ms}}})
                          .hold;
    ASSERT_TRUE(hold);
    store->fail(store->calls() + 1, test::Failing::no_effect);
    EXPECT_TRUE(await([&] { return is_one("holdfast_store_failures_total"); }));
    EXPECT_TRUE(await([&] { return is_one("holdfast_store_recoveries_total"); }));
    EXPECT_TRUE(await(
        [&] { return value_of(metrics->text(), "holdfast_renewals_total").value_or(0) >= 1; }));
    hold->release();
}

TEST(MetricsText, HasItsLabelsOnEachLineAsPrometheusReadsThem) {
    const Metrics metrics({{"store", "say \"db\"\\1\n"}, {"zone", "a"}});
    const std::string labels = "store=\"say \\\"db\\\"\\\\1\\n\",zone=\"a\"";
    const std::string text = metrics.text();
    EXPECT_EQ(value_of(text, "holdfast_holds{" + labels + "}"), 0);
    EXPECT_EQ(value_of(text, "holdfast_lost_total{" + labels + ",why=\"overdue\"}"), 0);
    EXPECT_NE(text.find("# TYPE holdfast_acquire_seconds histogram\n"), std::string::npos);
    EXPECT_THROW(Metrics(std::map<std::string, std::string>{{"1st", "a"}}), Error);
    EXPECT_THROW(Metrics(std::map<std::string, std::string>{{"", "a"}}), Error);
}

TEST(MetricsText, CountsEachBucketWithAllBelowIt) {
    Metrics metrics;
    for (const std::chrono::nanoseconds time :
         {50'000ns, 5'000'000ns, 5'000'000ns, 400'000'000'000ns})
        metrics.acquired("a", 1, time);
    const std::string text = metrics.text();
    EXPECT_EQ(value_of(text, "holdfast_acquire_seconds_bucket{le=\"0.0001\"}"), 1);
    EXPECT_EQ(value_of(text, "holdfast_acquire_seconds_bucket{le=\"0.005\"}"), 3);
    EXPECT_EQ(value_of(text, "holdfast_acquire_seconds_bucket{le=\"300\"}"), 3);
    EXPECT_EQ(value_of(text, "holdfast_acquire_seconds_bucket{le=\"+Inf\"}"), 4);
    EXPECT_NEAR(*value_of(text, "holdfast_acquire_seconds_sum"), 400.01005, 1e-6);
}

}  // namespace
}  // namespace holdfast
