#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <holdfast/holdfast.hpp>
#include <holdfast/upkeep.hpp>
#include <string>
#include <vector>

#include "faults/server_faults.hpp"
#include "support/await.hpp"
#include "support/soak.hpp"
#include "support/temporary_folder.hpp"

/// What somebody does who looks after the locks in a database that has very many of them. `Site`
/// has the server, and how a few things are said to it:
///     Server server;
///     void plant_idle_lines(int count)        resources that nobody contends for, since long ago
///     void plant_dead_contenders(int count)   whose lease has ended: each the only one in its line
///     void plant_waiters(int lines, int each) living ones, in lines with these names: 1, 2, 3
///     void slow_down_deleting()               of a contender: by 20 ms for each
///     static Server start_under(command)      one that is started by it
///     std::string count(table)                of its rows
///     void age(name)                          the last fence of a resource, by two days
///     std::string sessions()                  how many of ours there are
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

/// What forgets beside other work, and when. The server's clock is moved.
template <class Site>
class SqlForgetting : public testing::Test {
protected:
    SqlForgetting() {
        // A server may run as somebody else.
        std::filesystem::permissions(folder_.path(), std::filesystem::perms{0755});
        move_clock(0h);
    }
    void move_clock(std::chrono::seconds ahead) const {
        const auto whole = folder_.path() / "new";
        std::ofstream(whole) << ahead.count();
        std::filesystem::rename(whole, clock_);
    }
    std::string url() const { return site_.server.url() + "?request_timeout=30s"; }
    int lines() const { return std::stoi(site_.count("holdfast_lines")); }

    TemporaryFolder folder_;
    const std::filesystem::path clock_ = folder_.path() / "ahead";
    Site site_{.server = Site::start_under({"env", "LD_PRELOAD=" HOLDFAST_TEST_WRONG_CLOCK,
                                            "HOLDFAST_TEST_CLOCK=" + clock_.string()})};
};
TYPED_TEST_SUITE_P(SqlForgetting);

TYPED_TEST_P(SqlForgetting, NamesUsedOnceAreForgottenADayLaterBesideOtherWork) {
    const int count = rounds(1000, 100'000);
    const Client client = connect(this->url());
    for (int i = 0; i < count; ++i) client.mutex(std::to_string(i)).acquire().release();
    // As good as dead, when the server's clock has moved.
    auto dead = client.shared_mutex("dead", {.lease = 1h}).acquire_shared();
    ASSERT_GT(this->lines(), count * 9 / 10);
    this->move_clock(23h);
    for (int i = 0; i < 100; ++i) client.mutex("work").acquire().release();
    EXPECT_GT(this->lines(), count * 9 / 10) << "their fences are not a day old";
    this->move_clock(25h);
    auto held = client.mutex("held", {.lease = 1h}).acquire();
    this->site_.age("held");
    int releases = 0;
    EXPECT_TRUE(await(
        [&] {
            for (int i = 0; i < 50; ++i) client.mutex("work").acquire().release();
            releases += 50;
            return this->lines() <= 2;
        },
        std::chrono::seconds{rounds(240, 1800)}))
        << this->lines() << " are left after " << releases << " releases";
    EXPECT_LE(releases, 500 + count) << "each pays for more than one";
    EXPECT_LE(std::stoi(this->site_.count("holdfast_contenders")), 1) << "that holds";
    EXPECT_EQ(held.release(), Released::in_time);
    EXPECT_EQ(dead.release(), Released::too_late);
}

/// As `holdfast run` does: each client takes one lock.
TYPED_TEST_P(SqlForgetting, ClientsOfOneLockEachForgetTogether) {
    const int count = 300;
    connect(this->url());
    this->site_.plant_idle_lines(count);
    EXPECT_TRUE(await(
        [&] {
            connect(this->url()).mutex("work").acquire().release();
            return this->lines() < count / 10;
        },
        240s))
        << this->lines() << " are left";
}

TYPED_TEST_P(SqlForgetting, AClientWithOneThreadStaysWithOneConnection) {
    const Client client = connect(this->url());
    this->site_.plant_idle_lines(1000);
    for (int i = 0; i < 300; ++i) client.mutex("work").acquire().release();
    EXPECT_LT(this->lines(), 1000);
    EXPECT_EQ(this->site_.sessions(), "1");
}

REGISTER_TYPED_TEST_SUITE_P(SqlForgetting, NamesUsedOnceAreForgottenADayLaterBesideOtherWork,
                            ClientsOfOneLockEachForgetTogether,
                            AClientWithOneThreadStaysWithOneConnection);

REGISTER_TYPED_TEST_SUITE_P(SqlUpkeep, SweepingVeryManyIdleResourcesIsManyShortRequests,
                            ALivingHolderIsKeptWhileASweepIsAtWork,
                            AListingShowsAllOfVeryManyInOrder, ALineIsListedWholeHoweverLongItIs);

}  // namespace holdfast::test
