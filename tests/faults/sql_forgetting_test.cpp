#include <filesystem>
#include <fstream>

#include "faults/databases.hpp"
#include "support/await.hpp"
#include "support/soak.hpp"
#include "support/temporary_folder.hpp"

/// What forgets beside other work, and when. The server's clock is moved.
namespace holdfast::test {
namespace {

/// What a server's clock is told by.
class MovedClock {
protected:
    MovedClock() {
        // A server may run as somebody else.
        std::filesystem::permissions(folder_.path(), std::filesystem::perms{0755});
        move_clock(0h);
    }
    void move_clock(std::chrono::seconds ahead) const {
        const auto whole = folder_.path() / "new";
        std::ofstream(whole) << ahead.count();
        std::filesystem::rename(whole, clock_);
    }

    TemporaryFolder folder_;
    const std::filesystem::path clock_ = folder_.path() / "ahead";
};

class SqlForgetting : protected MovedClock, public OnDatabase {
protected:
    SqlForgetting()
        : OnDatabase({.under = {"env", "LD_PRELOAD=" HOLDFAST_TEST_WRONG_CLOCK,
                                "HOLDFAST_TEST_CLOCK=" + clock_.string()}}) {}

    Client patient() const { return connect(url("?request_timeout=30s")); }
    int count(const std::string& table) const {
        return std::stoi(query("SELECT COUNT(*) FROM " + table));
    }
    int lines() const { return count("holdfast_lines"); }
    /// The last fence of a resource, by two days.
    void age(const std::string& name) const {
        query(
            "UPDATE holdfast_lines SET last_fence = last_fence - 2 * 86400000000"
            " WHERE name = 'holdfast/" +
            name + "'");
    }
};
HOLDFAST_ON_DATABASES(SqlForgetting);

TEST_P(SqlForgetting, NamesUsedOnceAreForgottenADayLaterBesideOtherWork) {
    const int names = rounds(1000, 100'000);
    const Client client = patient();
    for (int i = 0; i < names; ++i) client.mutex(std::to_string(i)).acquire().release();
    // As good as dead, when the server's clock has moved.
    auto dead = client.shared_mutex("dead", {.lease = 1h}).acquire_shared();
    ASSERT_GT(lines(), names * 9 / 10);
    move_clock(23h);
    for (int i = 0; i < 100; ++i) client.mutex("work").acquire().release();
    EXPECT_GT(lines(), names * 9 / 10) << "their fences are not a day old";
    move_clock(25h);
    auto held = client.mutex("held", {.lease = 1h}).acquire();
    age("held");
    int releases = 0;
    EXPECT_TRUE(await(
        [&] {
            for (int i = 0; i < 50; ++i) client.mutex("work").acquire().release();
            releases += 50;
            return lines() <= 2;
        },
        std::chrono::seconds{rounds(240, 1800)}))
        << lines() << " are left after " << releases << " releases";
    EXPECT_LE(releases, 500 + names) << "each pays for more than one";
    EXPECT_LE(count("holdfast_contenders"), 1) << "that holds";
    EXPECT_EQ(held.release(), Released::in_time);
    EXPECT_EQ(dead.release(), Released::too_late);
}

/// As `holdfast run` does: each client takes one lock.
TEST_P(SqlForgetting, ClientsOfOneLockEachForgetTogether) {
    const int idle = 300;
    patient();
    database_->plant_idle_lines(idle);
    EXPECT_TRUE(await(
        [&] {
            patient().mutex("work").acquire().release();
            return lines() < idle / 10;
        },
        240s))
        << lines() << " are left";
}

TEST_P(SqlForgetting, AClientWithOneThreadStaysWithOneConnection) {
    const Client client = patient();
    database_->plant_idle_lines(1000);
    for (int i = 0; i < 300; ++i) client.mutex("work").acquire().release();
    EXPECT_LT(lines(), 1000);
    // One more is made where a step takes longer than a moment: on a busy machine one may, now and
    // then. One for each step would be as many as there may be, which is four.
    EXPECT_LE(std::stoi(database_->sessions()), 3);
}

}  // namespace
}  // namespace holdfast::test
