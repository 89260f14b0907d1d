#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <holdfast/holdfast.hpp>
#include <holdfast/upkeep.hpp>
#include <string>
#include <vector>

#include "faults/server_faults.hpp"
#include "support/await.hpp"

/// What somebody does who looks after the locks in a database that has very many of them. `Site`
/// has the server, and how a few things are said to it:
///     Server server;
///     void plant_idle_lines(int count)        resources that nobody contends for, since long ago
///     void plant_dead_contenders(int count)   whose lease has ended: each the only one in its line
///     void plant_waiters(int lines, int each) living ones, in lines with these names: 1, 2, 3
///     void slow_down_deleting()               of a contender: by 20 ms for each
namespace holdfast::test {

template <class Site>
class SqlUpkeep : public testing::Test {
protected:
    SqlUpkeep() { connect(url()).inspect(); }

    std::string url(const std::string& parameters = "") const {
        return site_.server.url() + parameters;
    }
    static std::vector<std::string> owners_of(const std::vector<ContenderInfo>& contenders) {
        std::vector<std::string> owners;
        for (const ContenderInfo& one : contenders) owners.push_back(one.owner);
        return owners;
    }

    Site site_;
};
TYPED_TEST_SUITE_P(SqlUpkeep);

TYPED_TEST_P(SqlUpkeep, SweepingVeryManyIdleResourcesIsManyShortRequests) {
    constexpr int count = 100'000;
    this->site_.plant_idle_lines(count);
    int steps = 0;
    double looked_at = 0;
    const Swept swept =
        sweep(this->url("?request_timeout=1s"), [&](const Swept& removed, double share) {
            EXPECT_LE(removed.resources, static_cast<std::uint64_t>(count));
            EXPECT_GE(share, looked_at);
            looked_at = share;
            ++steps;
        });
    EXPECT_EQ(swept.resources, static_cast<std::uint64_t>(count));
    EXPECT_EQ(looked_at, 1.0);
    EXPECT_GE(steps, 50);
}

TYPED_TEST_P(SqlUpkeep, ALivingHolderIsKeptWhileASweepIsAtWork) {
    constexpr int dead = 200;
    const Client client = connect(this->url());
    this->site_.plant_dead_contenders(dead);
    this->site_.slow_down_deleting();
    // Its line has one that is over too, and so is swept.
    auto hold = client.mutex("1", {.lease = 1s}).acquire();
    auto sweeping = std::async(std::launch::async, [&] { return sweep(this->url()); });
    EXPECT_EQ(sweeping.get().contenders, static_cast<std::uint64_t>(dead));
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(hold.release(), Released::in_time);
}

TYPED_TEST_P(SqlUpkeep, AListingShowsAllOfVeryManyInOrder) {
    constexpr int lines = 700;
    constexpr int each = 4;
    this->site_.plant_waiters(lines, each);
    const auto found = connect(this->url()).inspect();
    ASSERT_EQ(found.size(), static_cast<std::size_t>(lines));
    EXPECT_TRUE(std::ranges::is_sorted(found, {}, &ResourceInfo::name));
    const std::vector<std::string> in_order{"1", "2", "3", "4"};
    for (const ResourceInfo& resource : found) {
        EXPECT_EQ(this->owners_of(resource.waiters), in_order) << resource.name;
    }
}

TYPED_TEST_P(SqlUpkeep, ALineIsListedWholeHoweverLongItIs) {
    this->site_.plant_waiters(2, 1500);
    const auto found = connect(this->url()).inspect();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].waiters.size(), 1500U);
    EXPECT_EQ(found[1].waiters.size(), 1500U);
    EXPECT_EQ(found[0].waiters.back().owner, "1500");
}

REGISTER_TYPED_TEST_SUITE_P(SqlUpkeep, SweepingVeryManyIdleResourcesIsManyShortRequests,
                            ALivingHolderIsKeptWhileASweepIsAtWork,
                            AListingShowsAllOfVeryManyInOrder, ALineIsListedWholeHoweverLongItIs);

}  // namespace holdfast::test
