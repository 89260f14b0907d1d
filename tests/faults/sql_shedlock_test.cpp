#include <holdfast/holdfast.hpp>

#include "faults/databases.hpp"
#include "support/contender.hpp"

/// Locks that are shared with ShedLock, whose statements are given here as its JDBC provider sends
/// them with the database's time.
namespace holdfast::test {
namespace {

class SqlShedlock : public OnDatabase {
protected:
    /// Makes the table.
    SqlShedlock() : client_(connect(shared())) {}

    std::string shared() const { return url("?layout=shedlock&request_timeout=30s"); }
    Mutex mutex(std::chrono::milliseconds lease = 30s) const {
        return client_.mutex("report", {.lease = lease});
    }
    /// Whether ShedLock gets it: by a new row, or by an old one that is over.
    bool they_lock(const std::string& who, int seconds) const {
        const std::string until = database_->after(seconds);
        try {
            query(
                "INSERT INTO shedlock (name, lock_until, locked_at, locked_by) VALUES ('report', " +
                until + ", " + database_->now() + ", '" + who + "')");
            return true;
        } catch (const std::runtime_error&) {
            query("UPDATE shedlock SET lock_until = " + until +
                  ", locked_at = " + database_->now() + ", locked_by = '" + who +
                  "' WHERE name = 'report' AND lock_until <= " + database_->now());
            return locked_by() == who;
        }
    }
    void they_unlock(const std::string& who) const {
        query("UPDATE shedlock SET lock_until = " + database_->now() +
              " WHERE name = 'report' AND locked_by = '" + who + "'");
    }
    /// How many of ours are so beside their row in the table.
    std::string leases_where(const std::string& condition) const {
        return query(
            "SELECT COUNT(*) FROM shedlock, holdfast_contenders WHERE phase = 'admitted' AND " +
            condition);
    }
    std::string locked_by() const {
        return query("SELECT locked_by FROM shedlock WHERE name = 'report' AND lock_until > " +
                     database_->now());
    }

    Client client_;
};

/// With the database's time, ShedLock writes UTC into its columns in sessions of the server's zone.
std::vector<DatabaseKind> databases_in_zones() {
    auto all = databases();
#ifdef HOLDFAST_STORE_MYSQL
    all.back().settings = {"default-time-zone=+00:00"};
    all.push_back({"MariadbEast", make_mariadb, {"default-time-zone=+02:00"}});
    all.push_back({"MariadbWest", make_mariadb, {"default-time-zone=-05:00"}});
#endif
    return all;
}
HOLDFAST_ON(databases_in_zones(), SqlShedlock);

TEST_P(SqlShedlock, WhatWeHoldTheyDoNotGetUntilItIsReleased) {
    auto hold = mutex().acquire();
    EXPECT_GT(hold.fence(), 0U);
    EXPECT_TRUE(locked_by().starts_with("holdfast:"));
    EXPECT_FALSE(they_lock("theirs", 60));
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_EQ(locked_by(), "");
    EXPECT_TRUE(they_lock("theirs", 60));
}

TEST_P(SqlShedlock, WhatTheyHoldWeDoNotGetUntilItIsUnlocked) {
    ASSERT_TRUE(they_lock("theirs", 60));
    const auto attempt = mutex().try_acquire();
    EXPECT_FALSE(attempt);
    Acquiring waiting(client_, "report", {.lease = 30s});
    ASSERT_TRUE(await([&] { return waiters_of(client_, "report") == 1; }));
    EXPECT_EQ(locked_by(), "theirs");
    they_unlock("theirs");
    auto hold = waiting.get();
    EXPECT_TRUE(locked_by().starts_with("holdfast:"));
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_P(SqlShedlock, WhatTheyLeftToEndWeGetThen) {
    ASSERT_TRUE(they_lock("theirs", 1));
    auto hold = mutex().acquire();
    EXPECT_EQ(locked_by().find("theirs"), std::string::npos);
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_P(SqlShedlock, AHoldIsKeptBeyondItsLeaseAndFencesRise) {
    auto first = mutex(900ms).acquire();
    const std::string mark = locked_by();
    EXPECT_FALSE(await([&] { return locked_by() != mark; }, 2s)) << "it is renewed";
    EXPECT_TRUE(first.held());
    EXPECT_EQ(first.release(), Released::in_time);
    EXPECT_GT(mutex().acquire().fence(), first.fence());
}

TEST_P(SqlShedlock, AHoldThatTheyTookOverIsTold) {
    auto hold = mutex(900ms).acquire();
    query("UPDATE shedlock SET locked_by = 'theirs'");
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_EQ(hold.loss(), Loss::ended);
    EXPECT_EQ(hold.release(), Released::too_late);
    EXPECT_EQ(locked_by(), "theirs");
}

TEST_P(SqlShedlock, OursHandOverAndAreListedBesideTheirs) {
    auto hold = mutex().acquire();
    Acquiring waiting(connect(shared()), "report", {.lease = 30s});
    ASSERT_TRUE(await([&] { return waiters_of(client_, "report") == 1; }));
    EXPECT_EQ(hold.release(), Released::in_time);
    auto next = waiting.get();
    EXPECT_GT(next.fence(), hold.fence());
    EXPECT_EQ(next.release(), Released::in_time);

    ASSERT_TRUE(they_lock("theirs", 60));
    const auto found = client_.look_at("report");
    ASSERT_TRUE(found && found->holders.size() == 1);
    EXPECT_EQ(found->holders[0].owner, "theirs");
    EXPECT_TRUE(found->holders[0].foreign);
    EXPECT_TRUE(client_.break_hold("report", 0));
    EXPECT_EQ(locked_by(), "");
}

TEST_P(SqlShedlock, WhatWeHoldTheyDoNotGetEarlierWhereColumnsHaveWholeSeconds) {
    database_->keep_whole_seconds();
    for (int round = 0; round < 10; ++round) {
        auto hold = mutex().acquire();
        EXPECT_EQ(leases_where("lock_until < " + database_->end_of_lease(0)), "0");
        EXPECT_EQ(hold.release(), Released::in_time);
        EXPECT_EQ(locked_by(), "") << "it is free at once";
    }
}

TEST_P(SqlShedlock, WhatWeHoldTheyGetAMillisecondLaterAtTheMostWhereColumnsHaveThose) {
    database_->keep_milliseconds();
    for (int round = 0; round < 10; ++round) {
        auto hold = mutex().acquire();
        EXPECT_EQ(leases_where("lock_until < " + database_->end_of_lease(0)), "0");
        EXPECT_EQ(leases_where("lock_until >= " + database_->end_of_lease(1000)), "0");
        EXPECT_EQ(hold.release(), Released::in_time);
    }
}

TEST_P(SqlShedlock, SharesAndLongNamesAreRefused) {
    EXPECT_EQ(error_of([&] { return client_.semaphore("report", 3); }).code(), errc::not_supported);
    const Error error = error_of([&] { return client_.mutex(std::string(65, 'x')).try_acquire(); });
    EXPECT_EQ(error.code(), errc::invalid_argument);
}

}  // namespace
}  // namespace holdfast::test
