#include <holdfast/holdfast.hpp>
#include <holdfast/upkeep.hpp>

#include "faults/databases.hpp"

/// What somebody does who looks after the locks in a database that has very many of them.
namespace holdfast::test {
namespace {

class SqlUpkeep : public OnDatabase {
protected:
    SqlUpkeep() { connect(url()).inspect(); }

    static std::vector<std::string> owners_of(const std::vector<ContenderInfo>& contenders) {
        std::vector<std::string> owners;
        for (const ContenderInfo& one : contenders) owners.push_back(one.owner);
        return owners;
    }
};
HOLDFAST_ON_DATABASES(SqlUpkeep);

TEST_P(SqlUpkeep, SweepingVeryManyIdleResourcesIsManyShortRequests) {
    constexpr int count = 100'000;
    database_->plant_idle_lines(count);
    int steps = 0;
    double looked_at = 0;
    const Swept swept = sweep(url(), [&](const Swept& removed, double share) {
        EXPECT_LE(removed.resources, static_cast<std::uint64_t>(count));
        EXPECT_GE(share, looked_at);
        looked_at = share;
        ++steps;
    });
    EXPECT_EQ(swept.resources, static_cast<std::uint64_t>(count));
    EXPECT_EQ(looked_at, 1.0);
    EXPECT_GE(steps, 50);
}

TEST_P(SqlUpkeep, SweepingACrowdOfDeadWaitersInOneLineIsManyShortRequests) {
    constexpr int count = 20'000;
    connect(url()).shared_mutex("orders").acquire_shared().release();
    database_->plant_dead_waiters(count);
    int steps = 0;
    const Swept swept = sweep(url(), [&](const Swept&, double) { ++steps; });
    EXPECT_EQ(swept.contenders, static_cast<std::uint64_t>(count));
    EXPECT_GE(steps, 5);
}

TEST_P(SqlUpkeep, ALivingHolderIsKeptWhileASweepIsAtWork) {
    constexpr int dead = 200;
    const Client client = connect(url());
    database_->plant_dead_contenders(dead);
    database_->slow_down_deleting();
    // Its line has one that is over too, and so is swept.
    auto hold = client.mutex("1", {.lease = 1s}).acquire();
    auto sweeping = std::async(std::launch::async, [&] { return sweep(url()); });
    EXPECT_EQ(sweeping.get().contenders, static_cast<std::uint64_t>(dead));
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_P(SqlUpkeep, ALineThatSomebodyIsAtIsNotWaitedFor) {
    database_->plant_dead_contenders(2);
    auto other = std::async(std::launch::async, [&] { database_->hold_row_of("1", 3); });
    ASSERT_TRUE(await([&] { return database_->row_is_held(); }));
    EXPECT_EQ(sweep(url()).contenders, 1U);
    EXPECT_EQ(other.wait_for(0s), std::future_status::timeout);
}

TEST_P(SqlUpkeep, AListingShowsAllOfVeryManyInOrder) {
    constexpr int lines = 700;
    constexpr int each = 4;
    database_->plant_waiters(lines, each);
    const auto found = connect(url()).inspect();
    ASSERT_EQ(found.size(), static_cast<std::size_t>(lines));
    EXPECT_TRUE(std::ranges::is_sorted(found, {}, &ResourceInfo::name));
    const std::vector<std::string> in_order{"1", "2", "3", "4"};
    for (const ResourceInfo& resource : found) {
        EXPECT_EQ(owners_of(resource.waiters), in_order) << resource.name;
    }
}

TEST_P(SqlUpkeep, ALineIsListedWholeHoweverLongItIs) {
    database_->plant_waiters(2, 1500);
    const auto found = connect(url()).inspect();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].waiters.size(), 1500U);
    EXPECT_EQ(found[1].waiters.size(), 1500U);
    EXPECT_EQ(found[0].waiters.back().owner, "1500");
}

}  // namespace
}  // namespace holdfast::test
